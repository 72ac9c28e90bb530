"""Cases of operators by family; importing a module adds them to cases.SPECS."""
