-- A tenant's own patterns are declared and retired, never changed.
GRANT UPDATE (retired_at) ON screening_patterns TO memoryhub_app;
