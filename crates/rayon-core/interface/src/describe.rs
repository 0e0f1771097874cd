//! The public interface of a library, from rustdoc's JSON: the normalised signature of every item.
//!
//! What users cannot observe is left out: names of arguments, the defining module, and whether a
//! trait is derived.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Items and their signatures.
type Interface = BTreeMap<String, String>;

/// Returns everything that can be reached from the root of a library.
pub(crate) fn interface(document: &Value) -> Interface {
    let mut found = Interface::new();
    let library = Library {
        index: &document["index"],
    };
    library.module(&document["root"], "", &mut found);
    found
}

struct Library<'d> {
    index: &'d Value,
}

/// Returns the only key of `{"function": {...}}` and its value.
fn kind(item: &Value) -> Option<(&str, &Value)> {
    let (kind, inner) = item["inner"].as_object()?.iter().next()?;
    Some((kind, inner))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

impl<'d> Library<'d> {
    fn item(&self, id: &Value) -> Option<&'d Value> {
        let key = match id {
            Value::String(key) => key.clone(),
            other => other.to_string(),
        };
        self.index.get(key)
    }

    fn module(&self, id: &Value, path: &str, found: &mut Interface) {
        let module = self
            .item(id)
            .map_or(&Value::Null, |item| &item["inner"]["module"]);
        for id in list(&module["items"]) {
            if let Some(item) = self.item(id).filter(|item| item["visibility"] == "public") {
                self.member(item, path, found);
            }
        }
    }

    fn member(&self, item: &Value, path: &str, found: &mut Interface) {
        let Some((kind, inner)) = kind(item) else {
            return;
        };
        if kind == "use" {
            // An item that is re-exported from a private module counts where it is visible.
            if let Some(target) = self.item(&inner["id"]) {
                self.member(target, path, found);
            }
            return;
        }
        let name = format!("{path}{}", item["name"].as_str().unwrap_or("?"));
        if kind == "module" {
            return self.module(&item["id"], &format!("{name}::"), found);
        }
        found.insert(format!("{kind} {name}"), signature(item, &Value::Null));
        for id in list(&inner["variants"]) {
            if let Some(variant) = self.item(id) {
                let key = format!(
                    "variant {name}::{}",
                    variant["name"].as_str().unwrap_or("?")
                );
                found.insert(key, plain(&variant["inner"]).to_string());
            }
        }
        for id in list(&inner["impls"]) {
            if let Some(item) = self.item(id) {
                self.implementation(&name, &item["inner"]["impl"], found);
            }
        }
    }

    /// Adds an `impl` of a type: its methods, or the implemented trait.
    fn implementation(&self, name: &str, inner: &Value, found: &mut Interface) {
        if !inner["blanket_impl"].is_null() {
            return;
        }
        if inner["trait"]["path"] == "Freeze" {
            // Internal to the compiler.
            return;
        }
        if !inner["trait"].is_null() {
            let mut of = plain(&inner["trait"]);
            forget_lifetimes(&mut of);
            // A negative implementation, such as `!Send`, is part of the interface, too.
            let not = if inner["is_negative"] == true {
                "!"
            } else {
                ""
            };
            found.insert(format!("impl {not}{of} for {name}"), String::new());
            return;
        }
        for id in list(&inner["items"]) {
            if let Some(item) = self.item(id).filter(|item| item["visibility"] == "public") {
                let key = format!("{name}::{}", item["name"].as_str().unwrap_or("?"));
                found.insert(key, signature(item, &inner["generics"]));
            }
        }
    }
}

/// Returns a signature: the generic parameters of a type; for a function also its arguments and its
/// result.
fn signature(item: &Value, of_impl: &Value) -> String {
    let inner = kind(item).map_or(&Value::Null, |(_, inner)| inner);
    let takes: Vec<Value> = list(&inner["sig"]["inputs"])
        .map(|input| plain(&input[1]))
        .collect();
    let parts = [
        ("impl", plain(of_impl)),
        ("generics", plain(&inner["generics"])),
        ("header", plain(&inner["header"])),
        ("takes", Value::from(takes)),
        ("returns", plain(&inner["sig"]["output"])),
        ("deprecated", Value::from(!item["deprecation"].is_null())),
    ];
    let parts = parts.into_iter().filter(|(_, part)| !part.is_null());
    let parts: Map<String, Value> = parts.map(|(name, part)| (name.to_owned(), part)).collect();
    Value::from(parts).to_string()
}

/// Removes ids, which differ between documents, from JSON, and reduces paths to their last segment.
fn plain(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(plain).collect(),
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| *name != "id");
            let plain_field = |(name, field): (&String, &Value)| {
                let field = match (name.as_str(), field) {
                    ("path", Value::String(path)) => Value::from(last(path)),
                    _ => plain(field),
                };
                (name.clone(), field)
            };
            kept.map(plain_field).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// Removes lifetimes: `Debug for Scope<'_>` and `Debug for Scope<'scope>` are the same.
fn forget_lifetimes(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(forget_lifetimes),
        Value::Object(fields) => {
            fields.remove("lifetime");
            fields.values_mut().for_each(forget_lifetimes);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns a library with one function, re-exported from a private module, and one type with a
    /// method.
    fn sample(argument: &str) -> Value {
        let function = json!({"function": {
            "sig": {"inputs": [[argument,
                        {"resolved_path": {"path": "a::b::Pool", "id": 7, "args": null}}]],
                    "output": {"primitive": "bool"}},
            "generics": {"params": [], "where_predicates": []},
            "header": {"is_unsafe": false}}});
        json!({"root": 0, "index": {
            "0": {"id": 0, "name": "lib", "visibility": "public",
                  "inner": {"module": {"items": [1, 3, 6]}}},
            "1": {"id": 1, "name": null, "visibility": "public", "inner": {"use": {"id": 2}}},
            "2": {"id": 2, "name": "join", "visibility": "public", "deprecation": null,
                  "inner": function.clone()},
            "3": {"id": 3, "name": "Pool", "visibility": "public", "deprecation": null,
                  "inner": {"struct": {"generics": {"params": []}, "impls": [4]}}},
            "4": {"id": 4, "inner": {"impl": {"trait": null, "blanket_impl": null,
                  "is_negative": false, "generics": {"params": []}, "items": [5]}}},
            "5": {"id": 5, "name": "spawn", "visibility": "public", "deprecation": null,
                  "inner": function.clone()},
            "6": {"id": 6, "name": "hidden", "visibility": "default", "deprecation": null,
                  "inner": function},
        }})
    }

    #[test]
    fn public_items_are_found_wherever_they_lie() {
        let found = interface(&sample("x"));
        let items: Vec<&String> = found.keys().collect();
        assert_eq!(items, ["Pool::spawn", "function join", "struct Pool"]);
    }

    #[test]
    fn names_of_arguments_do_not_count_and_their_types_do() {
        assert_eq!(interface(&sample("x")), interface(&sample("y")));
        let mut other = sample("x");
        other["index"]["2"]["inner"]["function"]["sig"]["inputs"][0][1] =
            json!({"primitive": "u8"});
        assert_ne!(interface(&sample("x")), interface(&other));
    }
}
