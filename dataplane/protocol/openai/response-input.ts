/**
 * Walks the input of a responses request: a text, or items of many types, of which messages and tool results hold
 * parts. Unknown items are bounded by the model's context.
 */
import { RequestFault } from '../call-facts.ts';
import { addHiddenImage, addImage, addUnbounded, dataUrlBytes } from '../content-counts.ts';
import type { ContentCounts } from '../content-counts.ts';
import { isGiven, isRecord, itemsOf, stringOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { refuseFoldedNames } from '../folded-names.ts';
import { findImage, isImageData } from '../image-inputs.ts';
import { hasAtMostOne, hasOnly } from '../known-members.ts';
import { readAddedTools } from './response-tools.ts';

/** Items whose tokens are bounded by their bytes. */
const TEXT_ITEMS: ReadonlySet<string> = new Set([
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'computer_call',
  'computer_call_output',
  'local_shell_call',
  'local_shell_call_output',
  'shell_call',
  'shell_call_output',
  'apply_patch_call',
  'apply_patch_call_output',
  'compaction',
  'mcp_list_tools',
  'mcp_approval_request',
  'mcp_approval_response',
  'mcp_call',
  'file_search_call',
  'web_search_call',
  'tool_search_call',
  'tool_search_output',
  'additional_tools',
  'configuration_update',
  'program',
  'program_output',
]);
const TEXT_PARTS: ReadonlySet<string> = new Set([
  'input_text',
  'output_text',
  'text',
  'refusal',
  'summary_text',
  'reasoning_text',
]);

/** Members of such a part; with any other it may hold more than its text. */
const TEXT_MEMBERS: ReadonlySet<string> = new Set([
  'type',
  'text',
  'refusal',
  'annotations',
  'logprobs',
  'cache_control',
  'prompt_cache_breakpoint',
  'id',
  'index',
]);
/** Members of a part, or of an item, that is one image. */
const IMAGE_MEMBERS: ReadonlySet<string> = new Set([
  'type',
  'image_url',
  'url',
  'file_id',
  'detail',
  'text',
  'cache_control',
  'prompt_cache_breakpoint',
  'id',
  'index',
]);
const OUTPUT_MEMBERS: ReadonlySet<string> = new Set([
  ...TEXT_MEMBERS,
  'logs',
  'stdout',
  'stderr',
  'outcome',
  'exit_code',
  'status',
  'created_by',
]);
/** Members of a message that are bounded by their bytes, or read in their place. */
const MESSAGE_MEMBERS: ReadonlySet<string> = new Set([
  'type',
  'id',
  'role',
  'content',
  'name',
  'status',
  'phase',
  'tools',
  'output',
  'metadata',
  'cache_control',
  'internal_chat_message_metadata_passthrough',
]);
const MESSAGE_TYPES: ReadonlySet<string> = new Set(['', 'message']);

/** The last item of a request that shall summarise what comes before it. */
const COMPACTION_TRIGGER = 'compaction_trigger';

export function asksForCompaction(input: unknown): boolean {
  return itemsOf(input).some((item) => isRecord(item) && item['type'] === COMPACTION_TRIGGER);
}

/** The input may be absent. Throws RequestFault where it is neither text nor items, or refers to stored items. */
export function readInput(counts: ContentCounts, input: unknown, field: 'input' | 'items' = 'input'): void {
  if (!isGiven(input) || (field === 'input' && typeof input === 'string')) return;
  if (!Array.isArray(input)) {
    const what = field === 'input' ? 'a text or a list of items' : 'a list of items';
    throw new RequestFault('invalid_request', `The field "${field}" must be ${what}.`, field);
  }
  const items: readonly unknown[] = input;
  for (const [index, item] of items.entries()) {
    const param = `${field}[${index}]`;
    if (!isRecord(item)) throw new RequestFault('invalid_request', `The field "${param}" must be an object.`, param);
    readItem(counts, item, param);
  }
}

/** The variables of a stored prompt: texts, or parts such as images and files. */
export function readVariables(counts: ContentCounts, prompt: unknown): void {
  const variables = isRecord(prompt) ? prompt['variables'] : undefined;
  if (!isRecord(variables)) return;
  for (const [name, value] of Object.entries(variables)) readParts(counts, value, `prompt.variables.${name}`);
}

function readItem(counts: ContentCounts, item: JsonRecord, param: string): void {
  counts.units++;
  refuseFoldedNames(item, param);
  const type = stringOf(item['type']);
  if (isReference(item, type)) throw storedItemFault(param);
  switch (type) {
    case 'reasoning':
      return readReasoning(counts, item, param);
    case 'image_generation_call':
      return readPicture(counts, item, param);
    case COMPACTION_TRIGGER:
      return readTrigger(counts, param);
    default:
  }
  readAddedTools(counts, item['tools'], `${param}.tools`);
  for (const field of ['content', 'output']) readParts(counts, item[field], `${param}.${field}`);
  readMembers(counts, item, param);
}

/** What an item has besides its parts. */
function readMembers(counts: ContentCounts, item: JsonRecord, param: string): void {
  const type = stringOf(item['type']);
  if (MESSAGE_TYPES.has(type)) {
    if (!hasOnly(item, MESSAGE_MEMBERS)) readUnknown(counts, { ...item, content: undefined, output: undefined }, param);
  } else if (TEXT_ITEMS.has(type)) readOwnImage(counts, item, param);
  else readUnknown(counts, item, param);
}

/** An image as a member of an item of text. What its members hold is the item's own: calls, their arguments and results. */
function readOwnImage(counts: ContentCounts, { type: _type, ...members }: JsonRecord, param: string): void {
  const own = Object.entries(members).map(([name, value]) => [name, isRecord(value) ? {} : withoutItems(value)]);
  addHiddenImage(counts, Object.fromEntries(own), param);
}

/** A list with nothing but its first place. */
function withoutItems(value: unknown): unknown {
  return Array.isArray(value) ? value.slice(0, 1).map(() => '') : value;
}

/** The type of a reference is optional. */
function isReference(item: JsonRecord, type: string): boolean {
  return type === 'item_reference' || (type === '' && !isGiven(item['role']) && isGiven(item['id']));
}

function storedItemFault(param: string): RequestFault {
  return new RequestFault(
    'unsupported_parameter',
    `The item "${param}" refers to one that the provider keeps, where it is not bound to this key. ` +
      'Send the item itself (clients that make references by themselves stop with "store": false).',
    param,
  );
}

/** A conversation that keeps it would be summarised in each later call. */
function readTrigger(counts: ContentCounts, param: string): void {
  if (param.startsWith('items')) addUnbounded(counts, 'ServerTools', `${param}.type`);
}

/** The provider may add stored reasoning by the item's id, which may fill the context. */
function readReasoning(counts: ContentCounts, item: JsonRecord, param: string): void {
  if (!isGiven(item['encrypted_content'])) counts.files++;
  addHiddenImage(counts, item, param);
}

/** An image that the model generated before: its data, or only its id. */
function readPicture(counts: ContentCounts, { result }: JsonRecord, param: string): void {
  addImage(counts, param, typeof result === 'string' ? result.length : 0);
}

/** A text, a part, or a list of parts. */
function readParts(counts: ContentCounts, value: unknown, param: string): void {
  if (isRecord(value)) readPart(counts, value, param);
  for (const [index, part] of itemsOf(value).entries())
    if (isRecord(part)) readPart(counts, part, `${param}[${index}]`);
}

function readPart(counts: ContentCounts, part: JsonRecord, param: string): void {
  counts.units++;
  refuseFoldedNames(part, param);
  const type = stringOf(part['type']);
  const { images } = counts;
  if (TEXT_PARTS.has(type) && hasOnly(part, TEXT_MEMBERS)) return;
  if (isGiven(part['file_id'])) addUnbounded(counts, 'FileReferences', `${param}.file_id`);
  if (type.includes('audio') || isGiven(part['input_audio'])) addUnbounded(counts, 'Audio', param);
  else if (type === 'input_file') readFile(counts, part, param);
  else return readUnknown(counts, part, param, isTextOutput(type, part));
  // a file or a recording may have an image beside it
  if (counts.images === images) addHiddenImage(counts, part, param);
}

/** Of a shell, or of code, or a part without a type. */
function isTextOutput(type: string, part: JsonRecord): boolean {
  const isUntyped = type === '' && (typeof part['stdout'] === 'string' || typeof part['text'] === 'string');
  return (type === 'logs' || isUntyped) && hasOnly(part, OUTPUT_MEMBERS);
}

function readFile(counts: ContentCounts, part: JsonRecord, param: string): void {
  const { file_data: data, file_url: url } = part;
  counts.files++;
  if (isImageData(data)) addImage(counts, param, 0);
  if (isGiven(url)) addUnbounded(counts, 'FileReferences', `${param}.file_url`);
}

/** Anything may hold an image. What is neither one image nor text may fill the context. */
function readUnknown(counts: ContentCounts, value: JsonRecord, param: string, isText = false): void {
  const found = findImage(value, param);
  if (found !== undefined) addImage(counts, found, found === param ? imageBytes(value) : 0);
  if (!isText && !(found === param && isOneImage(value))) counts.files++;
}

function isOneImage(part: JsonRecord): boolean {
  return (
    hasOnly(part, IMAGE_MEMBERS) &&
    hasAtMostOne(part, ['image_url', 'url', 'file_id']) &&
    !Array.isArray(part['image_url']) &&
    !Array.isArray(part['url'])
  );
}

function imageBytes({ image_url: url }: JsonRecord): number {
  return typeof url === 'string' ? dataUrlBytes(url) : 0;
}
