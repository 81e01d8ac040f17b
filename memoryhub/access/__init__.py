"""Governed object, access: who asks, in which tenant, for which scope, with which right."""
