"""The page of `spotrain report`: one HTML file that asks for nothing else and runs no script. Pure.

story     what is known of a job
verdict   the job in a sentence, and its figures
scale     where moments and numbers lie on an axis
timeline  the worlds over time, and what ended them
curves    throughput and the script's metrics
tables    what stands beside each figure
page      all of it, as HTML
"""
