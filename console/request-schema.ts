/**
 * [P] Building blocks of the schemas with which routes declare their path parameters, query and form. The server checks
 * each request against its route's schemas before the handler runs. It ignores undeclared fields; every value is a text.
 */
import { Type } from 'typebox';
import type { Static, TSchema } from 'typebox';

/** The longest name of an object in Kubernetes. */
const MAX_NAME_LENGTH = 253;

/** The length of "namespace/name". */
export const MAX_ID_LENGTH = 2 * MAX_NAME_LENGTH + 1;

/** A namespace or an object's name. */
const OBJECT_NAME = Type.String({ pattern: `^[a-z0-9]([-a-z0-9.]{0,${MAX_NAME_LENGTH - 2}}[a-z0-9])?$` });

/** The path parameters of pages about an object in a namespace. */
export const OBJECT = Type.Object({ namespace: OBJECT_NAME, name: OBJECT_NAME });

/** The path parameters of pages about an object in the gateway's namespace. */
export const OWN_OBJECT = Type.Object({ name: OBJECT_NAME });

/** A text in the query, at most this many characters long. */
export function queryText(maxLength = MAX_NAME_LENGTH) {
  return Type.Optional(Type.String({ maxLength }));
}

/** A posted text. The page that reads it checks its length, so that it can show the form again. */
export function formText() {
  return Type.Optional(Type.String());
}

/** A posted field that may come several times: checkboxes, lists. */
export function formTexts() {
  return Type.Array(Type.String(), { default: [] });
}

/** The values that a schema admits; without a schema there are none. */
export type Values<S> = S extends TSchema ? Readonly<Static<S>> : object;

/** The names of a form's fields that may come several times. */
export function repeatedFields(form: TSchema | undefined): string[] {
  const properties = Type.IsObject(form) ? form.properties : {};
  return Object.entries(properties).flatMap(([name, schema]) => (Type.IsArray(schema) ? [name] : []));
}

/** Parses a query, leniently; where a parameter comes twice, the last one counts. */
export function parseQuery(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}
