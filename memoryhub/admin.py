"""Name the stock Django admin, kept for break-glass work."""

from django.contrib import admin

admin.site.site_header = "memoryhub"
admin.site.site_title = "memoryhub"
admin.site.index_title = "Break-glass administration"
