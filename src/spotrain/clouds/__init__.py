"""What only a cloud can tell: the prices of today. One module for each cloud.

    python -m spotrain.clouds aws --region us-east-1   # asks once, writes the prices ConfigMap

The one package that imports a cloud's SDK. The controller never imports it: it knows no cloud.
"""
