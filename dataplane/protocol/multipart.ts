/**
 * Parses forms with files (RFC 7578) and edits them in their bytes. Stricter than the RFC where two parsers could
 * disagree on what is asked, and so on its price: no preamble, no padded delimiters, one name per part, no name twice.
 */
import { asBuffer } from './bytes.ts';
import { RequestFault } from './call-facts.ts';
import type { JsonRecord } from './fields.ts';

export interface FormPart {
  readonly name: string;
  /** Undefined: a field, not a file. */
  readonly filename: string | undefined;
  readonly contentType: string;
  /** Where its content is in the body. */
  readonly start: number;
  readonly end: number;
}

/** Represents a file among a form's fields. */
export interface FormFile {
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: number;
}

const MAX_PARTS = 128;
const MAX_HEADER_BYTES = 8 * 1024;
const CRLF = '\r\n';
const BOUNDARY = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"\\]{1,70})"|([^\s";,]{1,70}))\s*(?:;|$)/i;

export function isForm(contentType: string | undefined): contentType is string {
  return /^\s*multipart\/form-data\b/i.test(contentType ?? '');
}

/** The fields of a form by name: text, or a FormFile. Throws RequestFault where the form is malformed. */
export function parseForm(bytes: Uint8Array, contentType: string): JsonRecord {
  const body = asBuffer(bytes);
  const fields: [string, unknown][] = readParts(bytes, contentType).map((part) => [
    part.name,
    part.filename === undefined ? textOfPart(body, part) : fileOf(part),
  ]);
  return Object.fromEntries(fields);
}

/** The parts in their order. Throws RequestFault. */
export function readParts(bytes: Uint8Array, contentType: string): readonly FormPart[] {
  const boundary = BOUNDARY.exec(contentType.trim());
  if (!boundary) throw malformed('its content-type has no boundary');
  const delimiter = `--${boundary[1] ?? boundary[2] ?? ''}`;
  const body = asBuffer(bytes);
  if (body.indexOf(delimiter) !== 0) throw malformed('it does not begin with its boundary');
  const parts: FormPart[] = [];
  const names = new Set<string>();
  let at = delimiter.length;
  while (!isClosed(body, at)) {
    const part = readPart(body, at, delimiter);
    addName(names, part.name);
    parts.push(part);
    if (parts.length > MAX_PARTS) throw malformed(`it has more than ${MAX_PARTS} parts`);
    at = part.end + CRLF.length + delimiter.length;
  }
  return parts;
}

/** The same form with another value of one field. Throws RequestFault. */
export function editForm(
  bytes: Uint8Array,
  contentType: string,
  { name, value }: { readonly name: string; readonly value: string },
): Uint8Array {
  const part = readParts(bytes, contentType).find((candidate) => candidate.name === name);
  return part ? Buffer.concat([bytes.subarray(0, part.start), Buffer.from(value), bytes.subarray(part.end)]) : bytes;
}

/** After a delimiter: two hyphens close the form, and nothing but an empty line may follow. */
function isClosed(body: Buffer, at: number): boolean {
  if (body.toString('latin1', at, at + 2) !== '--') return false;
  const rest = body.subarray(at + 2);
  if (rest.length > CRLF.length || (rest.length > 0 && rest.toString('latin1') !== CRLF))
    throw malformed('something follows its end');
  return true;
}

function readPart(body: Buffer, at: number, delimiter: string): FormPart {
  if (body.toString('latin1', at, at + 2) !== CRLF) throw malformed('a boundary is not followed by a line end');
  const headEnd = body.indexOf(CRLF + CRLF, at);
  if (headEnd < 0 || headEnd - at > MAX_HEADER_BYTES) throw malformed('a part has no end of its headers');
  const start = headEnd + 2 * CRLF.length;
  // an empty part may end where its headers do
  const end = body.indexOf(CRLF + delimiter, start);
  if (end < 0) throw malformed('a part has no end');
  return { ...readHeaders(body.toString('utf8', at + CRLF.length, headEnd)), start, end };
}

function readHeaders(text: string): Pick<FormPart, 'name' | 'filename' | 'contentType'> {
  const headers = splitHeaders(text);
  const disposition = headers.get('content-disposition') ?? '';
  const [name, ...others] = parametersOf(disposition, 'name');
  if (!/^form-data\s*;/i.test(disposition) || name === undefined || others.length > 0)
    throw malformed('a part has not exactly one name');
  return { name, filename: filenameIn(disposition), contentType: headers.get('content-type') ?? '' };
}

function splitHeaders(text: string): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const line of text.split(CRLF)) {
    const colon = line.indexOf(':');
    const header = line.slice(0, colon).toLowerCase();
    if (colon < 1 || headers.has(header)) throw malformed("a part's headers are not well-formed");
    headers.set(header, line.slice(colon + 1).trim());
  }
  return headers;
}

/** A part with a filename, even an empty or an encoded one, is a file. */
function filenameIn(disposition: string): string | undefined {
  const [filename] = parametersOf(disposition, 'filename');
  return filename ?? (/;\s*filename\*=/i.test(disposition) ? '' : undefined);
}

function parametersOf(disposition: string, parameter: string): string[] {
  const pattern = new RegExp(`;\\s*${parameter}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s";]+))`, 'gi');
  return [...disposition.matchAll(pattern)].map(([, quoted, plain]) => quoted?.replace(/\\(.)/g, '$1') ?? plain ?? '');
}

/** Items of a list share one name that ends in brackets; no other name may come twice, in any case. */
function addName(names: Set<string>, name: string): void {
  const folded = name.toLowerCase();
  if (names.has(folded) && !folded.endsWith('[]'))
    throw new RequestFault('invalid_request', `The field "${truncate(name)}" is given twice.`, truncate(name));
  names.add(folded);
}

function textOfPart(body: Buffer, { name, start, end }: FormPart): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body.subarray(start, end));
  } catch {
    throw new RequestFault('invalid_request', `The field "${truncate(name)}" is not valid UTF-8.`, truncate(name));
  }
}

function fileOf({ filename = '', contentType, start, end }: FormPart): FormFile {
  return { filename, contentType, bytes: end - start };
}

function truncate(name: string): string {
  return name.length > 100 ? `${name.slice(0, 100)}…` : name;
}

function malformed(why: string): RequestFault {
  return new RequestFault('invalid_request', `The body is not a well-formed form (multipart/form-data): ${why}.`);
}
