"""What a cost centre is charged for a month, for filing: as PDF, XLSX or HTML, each with the same figures."""
