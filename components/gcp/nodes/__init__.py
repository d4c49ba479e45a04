"""Managers and GPU pools."""
