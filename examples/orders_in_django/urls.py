from django.urls import path

from examples.orders_in_django import views

urlpatterns = [
    path("orders", views.place),
    path("orders/<uuid:order_id>", views.show),
    path("orders/<uuid:order_id>/cancel", views.cancel),
    path("healthz", views.healthy),
    path("readyz", views.ready),
]
