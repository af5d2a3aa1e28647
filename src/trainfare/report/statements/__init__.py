"""Statements of what a cost center is charged for a month: as PDF, XLSX or HTML, each with the same figures."""
