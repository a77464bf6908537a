/**
 * OpenAI's content parts as Anthropic's blocks. Empty texts are left out: the API refuses them.
 */
import { isGiven, isRecord, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { malformed, unsupported } from '../unsupported.ts';

type PartConverter = (part: JsonRecord, param: string) => JsonRecord | undefined;

const PARTS: ReadonlyMap<unknown, PartConverter> = new Map<unknown, PartConverter>([
  ['text', (part) => textBlock(part['text'])],
  ['refusal', (part) => textBlock(part['refusal'])],
  ['image_url', convertImage],
  ['file', convertFile],
]);

const TEXT_PARTS = new Map([...PARTS].filter(([type]) => type === 'text' || type === 'refusal'));

/** `content`: a string or a list of parts. Throws RequestFault for a part that Anthropic has nothing like. */
export function convertParts(content: unknown, param: string): JsonRecord[] {
  return convertContent(content, param, PARTS);
}

/** The same where only text may stand. */
export function convertText(content: unknown, param: string): JsonRecord[] {
  return convertContent(content, param, TEXT_PARTS);
}

function convertContent(content: unknown, param: string, parts: ReadonlyMap<unknown, PartConverter>): JsonRecord[] {
  if (!isGiven(content)) return [];
  if (typeof content === 'string') return [textBlock(content)].filter(isRecord);
  if (!Array.isArray(content)) throw malformed(param, 'a string or a list of parts');
  const items: readonly unknown[] = content;
  return items.map((part, index) => convertPart(part, `${param}[${index}]`, parts)).filter(isRecord);
}

function convertPart(part: unknown, param: string, parts: ReadonlyMap<unknown, PartConverter>): JsonRecord | undefined {
  if (!isRecord(part)) throw malformed(param, 'an object');
  const convert = parts.get(part['type']);
  if (!convert) throw unsupported(`${param}.type`, 'Anthropic');
  return convert(part, param);
}

function textBlock(text: unknown): JsonRecord | undefined {
  const said = textOf(text);
  return said === undefined ? undefined : { type: 'text', text: said };
}

/** `detail` chooses how much of an image OpenAI looks at; Anthropic looks at all of it. */
function convertImage(part: JsonRecord, param: string): JsonRecord {
  const image = part['image_url'];
  const url = isRecord(image) ? textOf(image['url']) : textOf(image);
  if (url === undefined) throw malformed(`${param}.image_url.url`, 'a URL');
  const data = splitDataUrl(url);
  if (data) return { type: 'image', source: { type: 'base64', media_type: data.mediaType, data: data.base64 } };
  if (!/^https?:\/\//i.test(url)) throw malformed(`${param}.image_url.url`, 'an http or https URL, or a data URL in base64');
  return { type: 'image', source: { type: 'url', url } };
}

function convertFile(part: JsonRecord, param: string): JsonRecord {
  const file = isRecord(part['file']) ? part['file'] : {};
  const data = splitDataUrl(textOf(file['file_data']) ?? '');
  if (data?.mediaType !== 'application/pdf') throw unsupported(`${param}.file`, 'Anthropic');
  const title = textOf(file['filename']);
  return { type: 'document', source: { type: 'base64', media_type: data.mediaType, data: data.base64 }, ...(title === undefined ? {} : { title }) };
}

/** Of a `data:<type>;base64,<data>` URL. */
function splitDataUrl(url: string): { mediaType: string; base64: string } | undefined {
  const head = /^data:([a-z0-9.+/-]{1,100})(?:;[a-z0-9=.+-]{1,60}){0,4};base64,/i.exec(url.slice(0, 500));
  return head ? { mediaType: (head[1] ?? '').toLowerCase(), base64: url.slice(head[0].length) } : undefined;
}
