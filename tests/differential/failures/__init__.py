"""Programs that must raise, a module per topic; `tests.differential.failing` says how they are declared."""
