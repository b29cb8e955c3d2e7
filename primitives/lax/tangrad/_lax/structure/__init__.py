"""Primitives that move elements about without computing with them: broadcast, reshape, slice, pad, concatenate, …"""
