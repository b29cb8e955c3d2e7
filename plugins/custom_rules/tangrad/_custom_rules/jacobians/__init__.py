"""Jacobians and Hessians, built from autodiff and batching. This file only hands names on."""
