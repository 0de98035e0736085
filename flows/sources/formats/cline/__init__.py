"""Cline's and Roo Code's task folders."""
