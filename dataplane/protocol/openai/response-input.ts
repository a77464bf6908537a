/**
 * Walks the input of a response: a text, or items of many types, in which messages and results of tools hold parts. Items that are
 * not known are bounded by the model's context.
 */
import { RequestFault } from '../call-facts.ts';
import { addImage, addUnbounded, dataUrlBytes } from '../facts-tally.ts';
import type { FactsTally } from '../facts-tally.ts';
import { isGiven, isRecord, itemsOf, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { findImage, isImageData } from '../image-inputs.ts';
import { readAddedTools } from './response-tools.ts';

/** Items that are text of the body, whoever wrote it. */
const TEXT_ITEMS: ReadonlySet<string> = new Set([
  'message', 'function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output', 'computer_call', 'computer_call_output',
  'local_shell_call', 'local_shell_call_output', 'shell_call', 'shell_call_output', 'apply_patch_call', 'apply_patch_call_output', 'compaction',
  'mcp_list_tools', 'mcp_approval_request', 'mcp_approval_response', 'mcp_call', 'file_search_call', 'web_search_call', 'tool_search_call',
  'tool_search_output', 'additional_tools', 'configuration_update', 'program', 'program_output',
]);
const TEXT_PARTS: ReadonlySet<string> = new Set(['input_text', 'output_text', 'text', 'refusal', 'summary_text', 'reasoning_text']);

/** Absent: instructions alone are asked. Throws RequestFault where it is neither text nor items, or refers to what is kept. */
export function readInput(tally: FactsTally, input: unknown): void {
  if (!isGiven(input) || typeof input === 'string') return;
  if (!Array.isArray(input)) throw new RequestFault('invalid_request', 'The field "input" must be a text or a list of items.', 'input');
  const items: readonly unknown[] = input;
  for (const [index, item] of items.entries()) {
    const param = `input[${index}]`;
    if (!isRecord(item)) throw new RequestFault('invalid_request', `The field "${param}" must be an object.`, param);
    readItem(tally, item, param);
  }
}

function readItem(tally: FactsTally, item: JsonRecord, param: string): void {
  tally.units++;
  const type = wordOf(item['type']);
  if (isReference(item, type)) throw keptItem(param);
  switch (type) {
    case 'reasoning': return readReasoning(tally, item);
    case 'image_generation_call': return readPicture(tally, item, param);
    case 'compaction_trigger': return addUnbounded(tally, 'ServerTools', `${param}.type`);
    default:
  }
  readAddedTools(tally, item['tools'], `${param}.tools`);
  for (const field of ['content', 'output']) readParts(tally, item[field], `${param}.${field}`);
  if (type !== '' && !TEXT_ITEMS.has(type)) readUnknown(tally, item, param);
}

/** Its type may be left out. */
function isReference(item: JsonRecord, type: string): boolean {
  return type === 'item_reference' || (type === '' && !isGiven(item['role']) && isGiven(item['id']));
}

function keptItem(param: string): RequestFault {
  return new RequestFault('unsupported_parameter',
    `The item "${param}" refers to one that the provider keeps, where it is not bound to this key. Send the item itself (clients that make references by themselves stop with "store": false).`, param);
}

/** What it thought may stay at the provider, which adds it by the item's id: it fills the context at most. */
function readReasoning(tally: FactsTally, item: JsonRecord): void {
  if (!isGiven(item['encrypted_content'])) tally.files++;
}

/** A picture that the model made before: whole, or by its id. */
function readPicture(tally: FactsTally, { result }: JsonRecord, param: string): void {
  addImage(tally, param, typeof result === 'string' ? result.length : 0);
}

/** A text, a part, or a list of parts. */
function readParts(tally: FactsTally, value: unknown, param: string): void {
  if (isRecord(value)) readPart(tally, value, param);
  for (const [index, part] of itemsOf(value).entries()) if (isRecord(part)) readPart(tally, part, `${param}[${index}]`);
}

function readPart(tally: FactsTally, part: JsonRecord, param: string): void {
  tally.units++;
  const type = wordOf(part['type']);
  if (TEXT_PARTS.has(type)) return;
  if (isGiven(part['file_id'])) addUnbounded(tally, 'FileReferences', `${param}.file_id`);
  if (type.includes('audio') || isGiven(part['input_audio'])) addUnbounded(tally, 'Audio', param);
  else if (type === 'input_file') readFile(tally, part, param);
  else if (type === 'logs' || (type === '' && !isGiven(part['image_url']))) readUnknown(tally, part, param, type === 'logs' || isOutputOfShell(part));
  else readUnknown(tally, part, param);
}

function isOutputOfShell(part: JsonRecord): boolean {
  return typeof part['stdout'] === 'string' || typeof part['text'] === 'string';
}

function readFile(tally: FactsTally, part: JsonRecord, param: string): void {
  const { file_data: data, file_url: url } = part;
  tally.files++;
  if (isImageData(data)) addImage(tally, param, 0);
  if (isGiven(url)) addUnbounded(tally, 'FileReferences', `${param}.file_url`);
}

/** An image wherever it hides; else, whatever it is, it fills the context at most, unless it is text. */
function readUnknown(tally: FactsTally, value: JsonRecord, param: string, isText = false): void {
  const found = findImage(value, param);
  if (found !== undefined) addImage(tally, found, found === param ? imageBytes(value) : 0);
  else if (!isText) tally.files++;
}

function imageBytes({ image_url: url }: JsonRecord): number {
  return typeof url === 'string' ? dataUrlBytes(url) : 0;
}
