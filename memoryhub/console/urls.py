"""The addresses of the console."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from memoryhub.console.api_docs import download_schema, show_api
from memoryhub.console.dashboard import show_counts, show_dashboard
from memoryhub.console.favicon import show_favicon
from memoryhub.console.lease import hold_item
from memoryhub.console.memories import show_memories
from memoryhub.console.memory import reopen, show_memory
from memoryhub.console.problems import show_problems
from memoryhub.console.profile import show_profile
from memoryhub.console.queue import show_queue
from memoryhub.console.rereview import look_again
from memoryhub.console.review import show_review
from memoryhub.console.sign_in import SignIn

app_name = "console"
urlpatterns = [
    path("", show_dashboard, name="dashboard"),
    path("counts/", show_counts, name="counts"),
    path("queues/<slug:kind>/", show_queue, name="queue"),
    path("queues/<slug:kind>/<uuid:item_id>/", show_review, name="review"),
    path("queues/<slug:kind>/<uuid:item_id>/lease/", hold_item, name="lease"),
    path("memories/", show_memories, name="memories"),
    path("memories/<uuid:memory_id>/", show_memory, name="memory"),
    path("memories/<uuid:memory_id>/reopen/", reopen, name="reopen"),
    path("memories/<uuid:memory_id>/again/", look_again, name="again"),
    path("docs/reference/problems", show_problems, name="problems"),
    path("favicon.ico", show_favicon, name="favicon"),
    path("docs/api/", show_api, name="api"),
    path("docs/openapi.yaml", download_schema, name="api_schema"),
    path("profile/", show_profile, name="profile"),
    path("sign-in/", SignIn.as_view(), name="sign_in"),
    path("sign-out/", LogoutView.as_view(next_page="console:sign_in"), name="sign_out"),
]
