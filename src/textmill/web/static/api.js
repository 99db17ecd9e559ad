// The page of the API: Swagger UI from this server, for the description of this server.
window.SwaggerUIBundle({ url: "/api/v1/openapi.json", dom_id: "#api", validatorUrl: null, deepLinking: true });
