/**
 * Tools of the responses API by type: the cost of tools that the client runs is bounded by the call's tokens; that of
 * tools that the provider runs is not.
 */
import type { PricedUse, UnboundedUse } from '../call-facts.ts';
import { addProviderTool, addUnbounded } from '../content-counts.ts';
import type { ContentCounts } from '../content-counts.ts';
import { isRecord, itemsOf, readRecords } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { refuseFoldedNames } from '../folded-names.ts';
import { hasOnly } from '../known-members.ts';

/** Defined by the client. */
const OWN_TOOLS: ReadonlySet<unknown> = new Set(['function', 'custom']);
/** Run by the client, but defined by the provider. */
const BUILT_IN_TOOLS: ReadonlySet<unknown> = new Set([
  'apply_patch',
  'local_shell',
  'computer',
  'computer_use_preview',
]);
/** Members of tools that the client runs, and of a choice among tools. */
const TOOL_MEMBERS: ReadonlySet<string> = new Set([
  'type',
  'name',
  'description',
  'parameters',
  'output_schema',
  'strict',
  'format',
  'function',
  'cache_control',
  'defer_loading',
  'allowed_callers',
  'display_width',
  'display_height',
  'environment',
  'execution',
]);
const CHOICE_MEMBERS: ReadonlySet<string> = new Set(['type', 'name', 'server_label', 'mode', 'tools', 'function']);
/** The provider's own definition of such a tool is not in the body; in units of estimate.ts. */
const BUILT_IN_UNITS = 96;

const PRICED_TOOLS: ReadonlyMap<unknown, PricedUse> = new Map([
  ['web_search', 'webSearch'],
  ['web_search_preview', 'webSearch'],
  ['file_search', 'fileSearch'],
]);

/** Applies the request's limit on all uses of tools together (max_tool_calls). */
export function withToolLimit(uses: readonly UnboundedUse[], most: unknown): readonly UnboundedUse[] {
  const isLimit = typeof most === 'number' && Number.isSafeInteger(most) && most >= 1;
  return uses.map(({ needs, ...use }) => {
    if (!needs || !('use' in needs)) return { ...use, ...(needs && { needs }) };
    if (isLimit) return { ...use, needs: { ...needs, most } };
    return { ...use, boundBy: { use: needs.use, field: 'max_tool_calls' } };
  });
}

/** Returns how many there are. Throws RequestFault where they are not a list of objects. */
export function readResponseTools(counts: ContentCounts, tools: unknown, param: string): number {
  const records = readRecords(tools, param);
  for (const [index, tool] of records.entries()) readTool(counts, tool, `${param}[${index}]`);
  return records.length;
}

/** A choice may name tools of the request; one with other members could ask for more. */
export function readToolChoice(counts: ContentCounts, choice: unknown): void {
  if (isRecord(choice) && !hasOnly(choice, CHOICE_MEMBERS)) addUnbounded(counts, 'ServerTools', 'tool_choice');
}

/** Tools that an input item or a namespace adds. */
export function readAddedTools(counts: ContentCounts, tools: unknown, param: string): void {
  for (const [index, tool] of itemsOf(tools).entries())
    if (isRecord(tool)) readTool(counts, tool, `${param}[${index}]`);
}

function readTool(counts: ContentCounts, tool: JsonRecord, param: string): void {
  const { type } = tool;
  refuseFoldedNames(tool, param);
  counts.units += OWN_TOOLS.has(type) ? 1 : BUILT_IN_UNITS;
  // a namespace only groups client tools
  if (type === 'namespace') readAddedTools(counts, tool['tools'], `${param}.tools`);
  else if (!runsAtClient(tool)) {
    const use = PRICED_TOOLS.get(type);
    addProviderTool(counts, `${param}.type`, use ? { needs: { use, most: 0 } } : {});
  }
}

/** Whether the client runs the tool, whoever defines it. */
export function runsAtClient(tool: JsonRecord): boolean {
  const { type, environment, execution } = tool;
  if (!hasOnly(tool, TOOL_MEMBERS)) return false;
  if (OWN_TOOLS.has(type) || BUILT_IN_TOOLS.has(type)) return true;
  if (type === 'tool_search') return execution === 'client';
  return type === 'shell' && isRecord(environment) && environment['type'] === 'local';
}
