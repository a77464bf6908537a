/**
 * Requests that are JSON or a form with files. A form holds numbers and booleans as text, and servers that take brackets
 * or dots in a name for a path or a list would find a field there that the gateway does not read.
 */
import { asBuffer } from '../bytes.ts';
import { RequestFault } from '../call-facts.ts';
import type { Converter } from '../converter.ts';
import type { JsonRecord } from '../fields.ts';
import { foldName } from '../folded-names.ts';
import { pathSegments } from '../form-names.ts';
import { parseForm, readParts, rewriteForm } from '../multipart.ts';
import { renameModel } from './rename-model.ts';

/** The content type of a form; undefined: the body is JSON. */
export type BodyForm = string | undefined;

const FLAGS: ReadonlyMap<unknown, boolean> = new Map([
  ['true', true],
  ['false', false],
]);
/** Fields that the gateway reads by this very name. */
const READ_WHOLE: ReadonlySet<string> = new Set([
  'model',
  'prompt',
  'stream',
  'n',
  'size',
  'quality',
  'seconds',
  'output_format',
  'file',
  'response_format',
]);

/** The fields of a form as JSON would have them. Throws RequestFault where the form is malformed or ambiguous. */
export function readFormFields(bytes: Uint8Array, contentType: string): JsonRecord {
  const form = parseForm(bytes, contentType);
  const fields = Object.entries(form).map(([name, value]): [string, unknown] => {
    checkName(name);
    return [name, valueOf(name, value)];
  });
  return Object.fromEntries(fields);
}

/** Some servers take `[model]` and `.model` for `model`. */
function checkName(name: string): void {
  const segments = pathSegments(name);
  const read = foldName(segments.find((segment) => segment !== '') ?? '');
  if (segments.length === 1 || !READ_WHOLE.has(read)) return;
  throw new RequestFault('invalid_request', `The field is called "${read}", without brackets or dots.`, name);
}

/** Any other text of such a field is left to its reader, which refuses it. */
function valueOf(name: string, value: unknown): unknown {
  if (name === 'stream') return FLAGS.get(value) ?? value;
  return name === 'n' ? wholeNumberIn(value) : value;
}

/** The whole number that a text says; any other value stays what it is. */
export function wholeNumberIn(value: unknown): unknown {
  return typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
}

/**
 * The fields of a form as a JSON body has them, files as data URLs; several files of one name, which ends in brackets,
 * are a list.
 */
export function readFormWithFiles(bytes: Uint8Array, contentType: string): JsonRecord {
  const fields: Record<string, unknown> = { ...readFormFields(bytes, contentType) };
  const files = new Map<string, string[]>();
  for (const { name, filename, contentType: type, start, end } of readParts(bytes, contentType)) {
    if (filename === undefined) continue;
    const url = `data:${type === '' ? 'application/octet-stream' : type};base64,${asBuffer(bytes).toString('base64', start, end)}`;
    files.set(name, [...(files.get(name) ?? []), url]);
  }
  for (const [name, urls] of files) fields[name] = name.endsWith('[]') ? urls : urls[0];
  return fields;
}

/** Makes a `request` function that changes only the model's name: of JSON, or of a form, which is written anew. */
export function renameModelIn(path: string, form: BodyForm): Converter['request'] {
  if (form === undefined) return renameModel(path);
  return (body, _parsed, { upstreamModel }) => ({
    path,
    ...rewriteForm(body, form, { name: 'model', value: upstreamModel }),
  });
}
