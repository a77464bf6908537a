/**
 * Parses forms with files (RFC 7578) and writes them anew. Stricter than the RFC where two parsers could disagree on
 * what is asked, and so on its price: no preamble, no padded delimiters, one name per part, no name twice. What goes on
 * to a provider has a boundary and headers of the gateway's own, so that it cannot be read in another way.
 */
import { createHash } from 'node:crypto';
import { asBuffer } from './bytes.ts';
import { RequestFault } from './call-facts.ts';
import type { JsonRecord } from './fields.ts';
import { foldName, refuseFoldedNames } from './folded-names.ts';
import { parseDisposition, parseMediaType } from './media-type.ts';

export interface FormPart {
  readonly name: string;
  /** Undefined: a field, not a file. */
  readonly filename: string | undefined;
  /** Without parameters; empty: none is stated. */
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
/** RFC 2046, section 5.1.1. */
const BOUNDARY = /^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$/;
/** Of a form, and of a part. The texts of a form are UTF-8. */
const CHARSETS: ReadonlySet<string> = new Set(['', 'utf-8', 'utf8', 'us-ascii', 'ascii']);
/** Encodings of a part that leave its bytes as they are. */
const IDENTITY_ENCODINGS: ReadonlySet<string> = new Set(['', '7bit', '8bit', 'binary']);
/** Names a charset for all other fields (RFC 7578, section 4.6). */
const CHARSET_FIELD = '_charset_';

export function isForm(contentType: string | undefined): contentType is string {
  return /^[ \t]*multipart\/form-data[ \t]*(?:;|$)/i.test(contentType ?? '');
}

/** The fields of a form by name: text, or a FormFile. Throws RequestFault where the form is malformed. */
export function parseForm(bytes: Uint8Array, contentType: string): JsonRecord {
  const body = asBuffer(bytes);
  const fields: [string, unknown][] = readParts(bytes, contentType).map((part) => [
    part.name,
    part.filename === undefined ? textOfPart(body, part) : fileOf(part),
  ]);
  const form = Object.fromEntries(fields);
  refuseFoldedNames(form);
  return form;
}

/** The parts in their order. Throws RequestFault. */
export function readParts(bytes: Uint8Array, contentType: string): readonly FormPart[] {
  const delimiter = `--${boundaryOf(contentType)}`;
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

/** A form that can be sent. */
export interface WrittenForm {
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** Writes the same form anew, with another value of one field. Throws RequestFault. */
export function rewriteForm(
  bytes: Uint8Array,
  contentType: string,
  { name, value }: { readonly name: string; readonly value: string },
): WrittenForm {
  return writeForm(
    readParts(bytes, contentType).map((part) => ({
      ...part,
      content: part.name === name ? Buffer.from(value) : bytes.subarray(part.start, part.end),
    })),
  );
}

/** A part of a form that is written. */
export interface NewPart extends Pick<FormPart, 'name' | 'filename' | 'contentType'> {
  readonly content: Uint8Array;
}

export function writeForm(parts: readonly NewPart[]): WrittenForm {
  const hash = createHash('sha256');
  for (const { content } of parts) hash.update(content);
  // no content contains its own hash
  const boundary = `modelgateway-${hash.digest('hex').slice(0, 48)}`;
  const written = parts.flatMap((part) => [
    Buffer.from(`--${boundary}${CRLF}${headersOf(part)}${CRLF}${CRLF}`),
    part.content,
    Buffer.from(CRLF),
  ]);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: Buffer.concat([...written, Buffer.from(`--${boundary}--${CRLF}`)]),
  };
}

function headersOf({ name, filename, contentType }: Omit<NewPart, 'content'>): string {
  const disposition = `Content-Disposition: form-data; name="${escape(name)}"`;
  if (filename === undefined) return disposition;
  const file = `${disposition}; filename="${escape(filename)}"`;
  return `${file}${CRLF}Content-Type: ${contentType === '' ? 'application/octet-stream' : contentType}`;
}

/**
 * As HTML writes names and file names, and for what parsers read in two ways too: some take a backslash for an escape,
 * and some split a header at each semicolon, also between quotes.
 */
function escape(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replace(/["\\;=\x00-\x1f\x7f]/g, (char) => {
    const code = char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0');
    return `%${code}`;
  });
}

function boundaryOf(contentType: string): string {
  const type = parseMediaType(contentType);
  if (!type) throw malformed('its content-type is not well-formed, or names a parameter twice');
  const { boundary, charset = '', ...others } = Object.fromEntries(type.parameters);
  const [other] = Object.keys(others);
  if (other !== undefined) throw malformed(`its content-type has the parameter "${truncate(other)}"`);
  if (!CHARSETS.has(charset.toLowerCase())) throw malformed('its charset is not UTF-8');
  if (boundary === undefined || !BOUNDARY.test(boundary)) throw malformed('its content-type has no valid boundary');
  return boundary;
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
  if (!IDENTITY_ENCODINGS.has((headers.get('content-transfer-encoding') ?? '').toLowerCase()))
    throw malformed('a part has an encoding (content-transfer-encoding)');
  return { ...namesOf(headers), contentType: contentTypeOf(headers.get('content-type')) };
}

function namesOf(headers: ReadonlyMap<string, string>): Pick<FormPart, 'name' | 'filename'> {
  const disposition = parseDisposition(headers.get('content-disposition') ?? '');
  const name = disposition?.value === 'form-data' ? disposition.parameters.get('name') : undefined;
  if (!disposition || name === undefined) throw malformed('a part has not exactly one name');
  const encoded = disposition.parameters.get('filename*');
  const filename = encoded === undefined ? disposition.parameters.get('filename') : decodeFilename(encoded);
  if (disposition.parameters.size > (filename === undefined ? 1 : 2))
    throw malformed('the disposition of a part has more than a name and a file name');
  return { name, filename };
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

function splitHeaders(text: string): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const line of text.split(CRLF)) {
    const colon = line.indexOf(':');
    const header = line.slice(0, Math.max(colon, 0)).toLowerCase();
    if (!HEADER_NAME.test(header) || headers.has(header)) throw malformed("a part's headers are not well-formed");
    headers.set(header, line.slice(colon + 1).trim());
  }
  return headers;
}

/** A part that is itself a form could hold fields. */
function contentTypeOf(header: string | undefined): string {
  if (header === undefined) return '';
  const type = parseMediaType(header);
  if (!type || /^(?:multipart|message)\//.test(type.value)) throw malformed('the content-type of a part is not valid');
  if (!CHARSETS.has((type.parameters.get('charset') ?? '').toLowerCase()))
    throw malformed('the charset of a part is not UTF-8');
  return type.value;
}

/** `UTF-8''gr%C3%BC%C3%9Fe.png` (RFC 8187). */
function decodeFilename(encoded: string): string {
  const [, text] = /^utf-8'[a-z0-9-]*'(.*)$/i.exec(encoded) ?? [];
  try {
    if (text !== undefined) return decodeURIComponent(text);
  } catch {
    // not UTF-8
  }
  throw malformed('the file name of a part is not valid');
}

/** Items of a list share one name that ends in brackets; no other name may come twice, in any case. */
function addName(names: Set<string>, name: string): void {
  const folded = foldName(name);
  if (folded === CHARSET_FIELD || name.trim() !== name)
    throw malformed('a part has a name that changes how it is read');
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
