//! Operations: path and method of each are declared once, by
//! `#[utoipa::path]` at its handler. The routes and the OpenAPI document both
//! come from there.

use std::fmt;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter, on};
use utoipa::openapi::{OpenApi, PathItem};

/// Routes, and the OpenAPI document that describes them.
pub struct Operations<S> {
    pub routes: Router<S>,
    pub document: OpenApi,
}

/// Operations of these handlers: `operations![App: site::add, token::list]`,
/// or `operations![for Q: status, why]` of handlers that are generic over the
/// state.
#[macro_export]
macro_rules! operations {
    (for $state:ident: $($handler:ident),* $(,)?) => {
        $crate::server::Operations::<$state>::default()
            $(.with($crate::operations!(@describe $handler), $handler::<$state>))*
    };
    (@describe $($part:ident)::+) => {{
        #[derive(utoipa::OpenApi)]
        #[openapi(paths($($part)::+))]
        struct Description;
        <Description as utoipa::OpenApi>::openapi()
    }};
    ($state:ident: $($($part:ident)::+),* $(,)?) => {
        $crate::server::Operations::<$state>::default()
            $(.with($crate::operations!(@describe $($part)::+), $($part)::+))*
    };
}

impl<S: Clone + Send + Sync + 'static> Operations<S> {
    /// Adds the operation that the document describes.
    #[must_use]
    pub fn with<T: 'static>(mut self, described: OpenApi, handler: impl Handler<T, S>) -> Self {
        for (path, item) in &described.paths.paths {
            self.routes = self.routes.route(path, method_router(item, &handler));
        }
        self.document.merge(described);
        self
    }

    /// Adds the operations of another part.
    #[must_use]
    pub fn merge(mut self, other: Operations<S>) -> Self {
        self.routes = self.routes.merge(other.routes);
        self.document.merge(other.document);
        self
    }

    /// Changes all routes, by a layer for example.
    #[must_use]
    pub fn map(self, change: impl FnOnce(Router<S>) -> Router<S>) -> Self {
        Operations { routes: change(self.routes), document: self.document }
    }
}

/// Serves every method that the document describes.
fn method_router<T: 'static, S: Clone + Send + Sync + 'static>(
    item: &PathItem,
    handler: &impl Handler<T, S>,
) -> MethodRouter<S> {
    let described = [
        (MethodFilter::GET, &item.get),
        (MethodFilter::PUT, &item.put),
        (MethodFilter::POST, &item.post),
        (MethodFilter::DELETE, &item.delete),
        (MethodFilter::PATCH, &item.patch),
    ];
    let methods = described.into_iter().filter(|it| it.1.is_some()).map(|it| it.0);
    methods.fold(MethodRouter::new(), |routes, it| routes.merge(on(it, handler.clone())))
}

impl<S: Clone + Send + Sync + 'static> Default for Operations<S> {
    fn default() -> Operations<S> {
        Operations { routes: Router::new(), document: OpenApi::default() }
    }
}

impl<S> fmt::Debug for Operations<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.document.paths.paths.keys()).finish()
    }
}
