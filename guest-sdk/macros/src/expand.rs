//! Expands an `impl Plugin for X`. The result is the same impl and, if the target is wasm, the component's exports.

use hookhost_wit::{Contract, Event};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, FnArg, Ident, ImplItem, ImplItemFn, ItemImpl, LitByteStr, LitInt, LitStr, Token, Type, parse_quote};

/// The methods of `Plugin` that are not events.
const CONFIGURE: &str = "configure";
const TOOLS: &str = "tools";
const CALL_TOOL: &str = "call_tool";

/// Expands `#[plugin]`. If there is an error, the result contains a `compile_error!` and the valid part of the item. So
/// rustc and editors understand this part and report no further errors about it.
pub(crate) fn plugin(attribute: &TokenStream, item: &TokenStream) -> TokenStream {
    match expand(attribute, item.clone()) {
        Ok(tokens) => tokens,
        Err(error) => {
            let (item, error) = (sound(item), error.into_compile_error());
            quote!(#item #error)
        }
    }
}

/// Returns the item without the methods that `Plugin` does not have.
fn sound(tokens: &TokenStream) -> TokenStream {
    let (Ok(mut item), Ok(contract)) = (syn::parse2::<ItemImpl>(tokens.clone()), Contract::read()) else {
        return tokens.clone();
    };
    if check_header(&item).is_err() {
        return tokens.clone();
    }
    item.items.retain(|item| match item {
        ImplItem::Fn(method) => {
            let name = method.sig.ident.to_string();
            known_methods(&contract).contains(&name) && check_method(method).is_ok()
        }
        _ => true,
    });
    let configure = methods(&item).find(|method| method.sig.ident == CONFIGURE).cloned();
    add_config_type(&mut item, configure.as_ref());
    item.into_token_stream()
}

fn expand(attribute: &TokenStream, item: TokenStream) -> Result<TokenStream, Error> {
    let arguments: Arguments = syn::parse2(attribute.clone())?;
    let span = item.span();
    let mut item: ItemImpl = syn::parse2(item)
        .map_err(|_| Error::new(span, "`#[plugin]` belongs on an `impl Plugin for YourType { … }` block"))?;
    check_header(&item)?;
    let contract = Contract::read()
        .map_err(|error| Error::new(Span::call_site(), format!("the hookhost contract does not parse: {error}")))?;
    let items = PluginItems::of(&item, &contract)?;
    add_config_type(&mut item, items.configure.as_ref());
    let native = native_constants(&items);
    item.items.splice(0..0, native);
    let exports = exports(&item.self_ty, &contract, &items);
    let proposals = arguments.sections();
    let description = description();
    Ok(quote!(#item #exports #proposals #description))
}

/// The arguments of the attribute. With these arguments, the plugin proposes settings for its allowlist entry.
#[derive(Default)]
struct Arguments {
    priority: Option<i32>,
    on_failure: Option<String>,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> Result<Self, Error> {
        const TAKES: &str = "`#[plugin]` takes `priority = NUMBER`, `on_failure = \"ask\"`, both or nothing: the methods are the \
                             subscriptions";
        let wrong = |at: Span| Error::new(at, TAKES);
        let mut arguments = Self::default();
        while !input.is_empty() {
            let name: Ident = input.parse().map_err(|error| wrong(error.span()))?;
            input.parse::<Token![=]>().map_err(|error| wrong(error.span()))?;
            if name == "priority" && arguments.priority.is_none() {
                let number: LitInt = input.parse().map_err(|error| wrong(error.span()))?;
                let out_of_range = |_| {
                    let (least, most) = (i32::MIN, i32::MAX);
                    Error::new(number.span(), format!("a priority is a whole number from {least} to {most}"))
                };
                arguments.priority = Some(number.base10_parse().map_err(out_of_range)?);
            } else if name == "on_failure" && arguments.on_failure.is_none() {
                let word: LitStr = input.parse().map_err(|error| wrong(error.span()))?;
                if !["ask", "reject"].contains(&word.value().as_str()) {
                    return Err(Error::new(word.span(), "`on_failure` can propose \"ask\" or \"reject\""));
                }
                arguments.on_failure = Some(word.value());
            } else {
                return Err(wrong(name.span()));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>().map_err(|error| wrong(error.span()))?;
            }
        }
        Ok(arguments)
    }
}

impl Arguments {
    /// Returns the proposals as custom sections. A host can read them without running the component.
    fn sections(&self) -> TokenStream {
        let priority = self.priority.map(|priority| section("hookhost:priority", &priority.to_string()));
        let on_failure = self.on_failure.as_ref().map(|word| section("hookhost:on-failure", word));
        quote!(#priority #on_failure)
    }
}

/// Returns the custom section `description` of WebAssembly's tool conventions, with the description of the plugin's package.
fn description() -> TokenStream {
    quote! {
        #[cfg(target_arch = "wasm32")]
        #[allow(warnings, unsafe_code, clippy::all, clippy::allow_attributes_without_reason)]
        const _: () = {
            const TEXT: &[u8] = ::core::env!("CARGO_PKG_DESCRIPTION").as_bytes();
            #[used]
            #[unsafe(link_section = "description")]
            static DESCRIPTION: [u8; TEXT.len()] = *TEXT.first_chunk().unwrap();
        };
    }
}

/// Returns a custom section of the component.
fn section(name: &str, text: &str) -> TokenStream {
    let (length, bytes) = (text.len(), LitByteStr::new(text.as_bytes(), Span::call_site()));
    quote! {
        #[cfg(target_arch = "wasm32")]
        #[allow(warnings, unsafe_code, clippy::all, clippy::allow_attributes_without_reason)]
        const _: () = {
            #[used]
            #[unsafe(link_section = #name)]
            static PROPOSAL: [u8; #length] = *#bytes;
        };
    }
}

fn check_header(item: &ItemImpl) -> Result<(), Error> {
    let is_plugin = item.trait_.as_ref().and_then(|(path, _)| path.segments.last());
    if is_plugin.is_none_or(|segment| segment.ident != "Plugin") {
        let message = "`#[plugin]` belongs on an `impl Plugin for YourType { … }` block";
        return Err(Error::new(item.self_ty.span(), message));
    }
    if !item.generics.params.is_empty() {
        let message = "a plugin type cannot be generic: a component exports each event once";
        return Err(Error::new(item.generics.span(), message));
    }
    Ok(())
}

/// The methods of an impl block.
struct PluginItems<'a> {
    events: Vec<&'a Event>,
    configure: Option<ImplItemFn>,
    tools: bool,
}

impl<'a> PluginItems<'a> {
    fn of(item: &ItemImpl, contract: &'a Contract) -> Result<Self, Error> {
        let mut items = Self { events: Vec::new(), configure: None, tools: false };
        let (mut list, mut call) = (None, None);
        for method in methods(item) {
            check_method(method)?;
            let name = method.sig.ident.to_string();
            match name.as_str() {
                CONFIGURE => items.configure = Some(method.clone()),
                TOOLS => list = Some(&method.sig.ident),
                CALL_TOOL => call = Some(&method.sig.ident),
                _ => match contract.events.iter().find(|event| event.method() == name) {
                    Some(event) => items.events.push(event),
                    None => return Err(unknown_method(&method.sig.ident, contract)),
                },
            }
        }
        match (list, call) {
            (Some(list), None) => {
                return Err(Error::new(
                    list.span(),
                    "`tools` lists tools that nobody could call: write `call_tool` too",
                ));
            }
            (None, Some(call)) => {
                return Err(Error::new(
                    call.span(),
                    "`call_tool` is for tools that the plugin does not declare: write `tools` too",
                ));
            }
            (Some(_), Some(_)) => items.tools = true,
            (None, None) => {}
        }
        if items.events.is_empty() && !items.tools {
            let message = "this plugin subscribes to no event: write at least one method, such as `before_tool_call`";
            return Err(Error::new(item.self_ty.span(), message));
        }
        Ok(items)
    }
}

fn methods(item: &ItemImpl) -> impl Iterator<Item = &ImplItemFn> {
    item.items.iter().filter_map(|item| match item {
        ImplItem::Fn(method) => Some(method),
        _ => None,
    })
}

fn check_method(method: &ImplItemFn) -> Result<(), Error> {
    if let Some(asyncness) = &method.sig.asyncness {
        let message = "a plugin's methods cannot be `async`: each call is one instance of the component, and waits for \
                       its capabilities by itself";
        return Err(Error::new(asyncness.span(), message));
    }
    if let Some(cfg) = method.attrs.iter().find(|attribute| attribute.path().is_ident("cfg")) {
        let message = "a plugin's methods cannot be conditional: `#[plugin]` exports an event for each method it sees";
        return Err(Error::new(cfg.span(), message));
    }
    if let Some(FnArg::Receiver(receiver)) = method.sig.inputs.first() {
        let message =
            "a plugin's methods take no `self`: every event gets a fresh instance, so there is nothing to hold";
        return Err(Error::new(receiver.span(), message));
    }
    Ok(())
}

fn known_methods(contract: &Contract) -> Vec<String> {
    let events = contract.events.iter().map(Event::method);
    events.chain([CONFIGURE, TOOLS, CALL_TOOL].map(str::to_owned)).collect()
}

fn unknown_method(name: &Ident, contract: &Contract) -> Error {
    let known = known_methods(contract);
    let items = name.to_string();
    let nearest = known
        .iter()
        .map(|known| (strsim::jaro_winkler(&items, known), known))
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, known)| format!("; the nearest is `{known}`"))
        .unwrap_or_default();
    let message = format!(
        "`{items}` is not an event of hookhost{nearest}. Put functions of your own into `impl YourType {{ … }}`. The events \
         are: {}",
        known.join(", ")
    );
    Error::new(name.span(), message)
}

/// Adds `type Config`, from the parameter of `configure`, unless the author has written it.
fn add_config_type(item: &mut ItemImpl, configure: Option<&ImplItemFn>) {
    let is_written = item.items.iter().any(|item| matches!(item, ImplItem::Type(ty) if ty.ident == "Config"));
    if is_written {
        return;
    }
    let config: Type = match configure.map(|method| method.sig.inputs.first()) {
        Some(Some(FnArg::Typed(parameter))) => (*parameter.ty).clone(),
        // If the parameter is missing, rustc explains the mistake best, but the generated code needs some type here.
        Some(_) | None => parse_quote!(::hookhost_guest::NoConfig),
    };
    item.items.insert(0, parse_quote!(type Config = #config;));
}

/// Returns the constants that a program needs, in addition to the methods, to call the plugin natively.
fn native_constants(items: &PluginItems<'_>) -> [ImplItem; 4] {
    let events = items.events.iter().map(|event| &event.interface);
    let (configures, tools) = (items.configure.is_some(), items.tools);
    [
        parse_quote!(const EVENTS: &'static [&'static str] = &[#(#events),*];),
        parse_quote!(const CONFIGURES: bool = #configures;),
        parse_quote!(const BRINGS_TOOLS: bool = #tools;),
        parse_quote!(
            const VERSION: &'static str = ::core::env!("CARGO_PKG_VERSION");
        ),
    ]
}

/// Returns the component's exports. They exist only on wasm, because a native cdylib with such symbol names does not
/// link.
fn exports(plugin: &Type, contract: &Contract, items: &PluginItems<'_>) -> TokenStream {
    let mut interfaces: Vec<&str> = items.events.iter().map(|event| event.interface.as_str()).collect();
    let mut glue: Vec<TokenStream> = items.events.iter().map(|event| event_glue(plugin, contract, event)).collect();
    if items.configure.is_some() {
        interfaces.push("setup");
        glue.push(setup_glue(plugin, contract));
    }
    if items.tools {
        interfaces.push("tools");
        glue.push(tools_glue(plugin, contract));
    }
    let world = contract.world("plugin", &interfaces);
    let with = contract.imports.iter().map(|import| {
        let module = contract.module_of_import(import);
        quote!(#import: ::hookhost_guest::__bindings::#module)
    });
    quote! {
        // The plugin's type is never constructed, because its functions take no `self`. Without this use of the type,
        // rustc would warn about dead code.
        const _: usize = ::core::mem::size_of::<#plugin>();
        #[cfg(target_arch = "wasm32")]
        #[doc(hidden)]
        #[allow(warnings, unsafe_code, clippy::all, clippy::allow_attributes_without_reason)]
        mod __hookhost_plugin {
            ::hookhost_guest::wit_bindgen::generate!({
                inline: #world,
                path: [],
                world: "plugin",
                with: { #(#with),* },
                runtime_path: "::hookhost_guest::wit_bindgen::rt",
            });
        }
        #[cfg(target_arch = "wasm32")]
        #[allow(warnings, unsafe_code, clippy::all, clippy::allow_attributes_without_reason)]
        const _: () = {
            #(#glue)*
            __hookhost_plugin::export!(#plugin with_types_in __hookhost_plugin);
        };
    }
}

fn module(interface: &str) -> Ident {
    Ident::new(&interface.replace('-', "_"), Span::call_site())
}

fn event_glue(plugin: &Type, contract: &Contract, event: &Event) -> TokenStream {
    let package = contract.module_of_events();
    let interface = module(&event.interface);
    let parameters = event.parameters.iter().map(|parameter| {
        let (name, owned) = (&parameter.name, &parameter.owned);
        quote!(#name: #owned)
    });
    let arguments = event.parameters.iter().map(|parameter| {
        let name = &parameter.name;
        if parameter.borrowed { quote!(&#name) } else { name.to_token_stream() }
    });
    let answer = event.answer.as_ref().map(|answer| quote!(-> #answer));
    quote! {
        impl __hookhost_plugin::exports::hookhost::#package::#interface::Guest for #plugin {
            fn handle(#(#parameters),*) #answer {
                <#plugin as ::hookhost_guest::Plugin>::#interface(#(#arguments),*)
            }
        }
    }
}

fn setup_glue(plugin: &Type, contract: &Contract) -> TokenStream {
    let package = contract.module_of_events();
    quote! {
        impl __hookhost_plugin::exports::hookhost::#package::setup::Guest for #plugin {
            fn configure(config: ::std::string::String) -> ::std::result::Result<(), ::std::string::String> {
                <#plugin as ::hookhost_guest::Plugin>::configure(::hookhost_guest::parse_config(config)?)
            }
        }
    }
}

fn tools_glue(plugin: &Type, contract: &Contract) -> TokenStream {
    let package = contract.module_of_events();
    quote! {
        impl __hookhost_plugin::exports::hookhost::#package::tools::Guest for #plugin {
            fn list() -> ::std::vec::Vec<__hookhost_plugin::exports::hookhost::#package::tools::Tool> {
                <#plugin as ::hookhost_guest::Plugin>::tools()
                    .into_iter()
                    .map(|::hookhost_guest::Tool { name, description, input_schema }| {
                        __hookhost_plugin::exports::hookhost::#package::tools::Tool { name, description, input_schema }
                    })
                    .collect()
            }
            fn call(
                session: ::hookhost_guest::types::Session,
                name: ::std::string::String,
                arguments: ::std::string::String,
            ) -> ::hookhost_guest::types::ToolResult {
                <#plugin as ::hookhost_guest::Plugin>::call_tool(&session, &name, &arguments)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{expand, plugin};
    use proc_macro2::TokenStream;
    use quote::quote;

    fn error(item: TokenStream) -> String {
        expand(&TokenStream::new(), item).expect_err("should not expand").to_string()
    }

    fn expansion(item: TokenStream) -> String {
        expand(&TokenStream::new(), item).unwrap().to_string()
    }

    #[test]
    fn a_priority_and_what_a_failure_leads_to_are_proposed_in_sections_and_nothing_else_is_taken() {
        let item = || quote! { impl Plugin for X { fn stream_end(session: &Session, text: &str) {} } };
        let plain = expansion(item());
        assert!(!plain.contains("\"hookhost:priority\"") && !plain.contains("\"hookhost:on-failure\""), "{plain}");
        for (attribute, text) in [(quote!(priority = 50), "b\"50\""), (quote!(priority = -7), "b\"-7\"")] {
            let expansion = expand(&attribute, item()).unwrap().to_string();
            assert!(expansion.contains("\"hookhost:priority\"") && expansion.contains(text), "{expansion}");
        }
        let both = expand(&quote!(priority = 5, on_failure = "ask"), item()).unwrap().to_string();
        for text in ["\"hookhost:priority\"", "b\"5\"", "\"hookhost:on-failure\"", "b\"ask\""] {
            assert!(both.contains(text), "{both}");
        }
        for (attribute, said) in [
            (quote!(prio = 1), "takes `priority = NUMBER`, `on_failure = \"ask\"`, both or nothing"),
            (quote!(priority), "takes `priority = NUMBER`"),
            (quote!(priority = "1"), "takes `priority = NUMBER`"),
            (quote!(priority = 1, more), "takes `priority = NUMBER`"),
            (quote!(priority = 1, priority = 2), "takes `priority = NUMBER`"),
            (quote!(on_failure = ask), "takes `priority = NUMBER`"),
            (quote!(on_failure = "skip"), "can propose \"ask\" or \"reject\""),
            (quote!(priority = 2147483648), "a whole number from -2147483648 to 2147483647"),
        ] {
            let error = expand(&attribute, item()).expect_err("should not expand").to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn an_unknown_event_is_answered_with_the_nearest_known_one() {
        let error = error(quote! { impl Plugin for X { fn before_toolcall(session: &Session) {} } });
        assert!(
            error.starts_with("`before_toolcall` is not an event of hookhost; the nearest is `before_tool_call`"),
            "{error}"
        );
    }

    #[test]
    fn what_is_not_a_plugin_impl_is_reported_where_the_attribute_belongs() {
        for item in [quote! { struct X; }, quote! { impl X { fn f() {} } }, quote! { impl Clone for X {} }] {
            let error = error(item);
            assert!(error.contains("belongs on an `impl Plugin for YourType"), "{error}");
        }
    }

    #[test]
    fn a_method_that_cannot_be_an_export_is_refused_with_the_reason() {
        for (method, reason) in [
            (quote! { async fn stream_end(session: &Session, text: &str) {} }, "cannot be `async`"),
            (quote! { fn stream_end(&self, text: &str) {} }, "take no `self`"),
            (quote! { #[cfg(test)] fn stream_end(session: &Session, text: &str) {} }, "cannot be conditional"),
            (quote! { fn tools() -> Vec<Tool> { vec![] } }, "write `call_tool` too"),
            (quote! { fn configure(config: Config) -> Result<(), String> { Ok(()) } }, "subscribes to no event"),
        ] {
            let error = error(quote! { impl Plugin for X { #method } });
            assert!(error.contains(reason), "{error}");
        }
        let error = error(quote! { impl<T> Plugin for X<T> { fn stream_end(session: &Session, text: &str) {} } });
        assert!(error.contains("cannot be generic"), "{error}");
    }

    #[test]
    fn what_is_sound_stays_beside_the_error_so_that_an_editor_understands_it() {
        let item = quote! { impl Plugin for X {
            fn nonsense() {}
            fn stream_end(session: &Session, text: &str) {}
        } };
        let expansion = plugin(&TokenStream::new(), &item).to_string();
        assert!(expansion.contains("fn stream_end") && expansion.contains("type Config"), "{expansion}");
        assert!(!expansion.contains("fn nonsense") && expansion.contains("compile_error"), "{expansion}");
    }

    #[test]
    fn only_the_methods_that_are_written_become_exports() {
        let expansion = expansion(quote! { impl Plugin for X { fn stream_end(session: &Session, text: &str) {} } });
        assert!(expansion.contains("export hookhost:hooks/stream-end@"), "{expansion}");
        assert_eq!(expansion.matches("export hookhost:hooks/").count(), 1, "{expansion}");
    }

    #[test]
    fn a_program_that_calls_it_natively_knows_its_methods() {
        let item = quote! { impl Plugin for X {
            fn configure(config: Mine) -> Result<(), String> { Ok(()) }
            fn stream_end(session: &Session, text: &str) {}
        } };
        let expansion = expansion(item);
        for constant in ["= & [\"stream-end\"]", "CONFIGURES : bool = true", "BRINGS_TOOLS : bool = false"] {
            assert!(expansion.contains(constant), "{constant} in {expansion}");
        }
    }

    #[test]
    fn the_config_type_is_that_of_configure_and_a_written_one_stays() {
        let event = quote! { fn stream_end(session: &Session, text: &str) {} };
        let configure = quote! { fn configure(config: Mine) -> Result<(), String> { Ok(()) } };
        let inferred = expansion(quote! { impl Plugin for X { #configure #event } });
        assert!(inferred.contains("type Config = Mine ;"), "{inferred}");
        let items = expansion(quote! { impl Plugin for X { type Config = Other; #configure #event } });
        assert!(!items.contains("type Config = Mine"), "{items}");
        let none = expansion(quote! { impl Plugin for X { #event } });
        assert!(none.contains("type Config = :: hookhost_guest :: NoConfig ;"), "{none}");
        assert!(!none.contains("export hookhost:hooks/setup"), "{none}");
    }
}
