/**
 * Tools of OpenAI's responses by type: those that the client runs cost tokens of the call; those that the provider runs cost what
 * they like.
 */
import { addUnbounded } from '../facts-tally.ts';
import type { FactsTally } from '../facts-tally.ts';
import { isRecord, itemsOf, readRecords } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';

/** Described by the client. */
const OWN_TOOLS: ReadonlySet<unknown> = new Set(['function', 'custom']);
/** Run by the client, described by the provider. */
const BUILT_IN_TOOLS: ReadonlySet<unknown> = new Set(['apply_patch', 'local_shell', 'computer', 'computer_use_preview']);
/** The provider's own description of such a tool, which is not in the body, in units of estimate.ts. */
const BUILT_IN_UNITS = 96;

/** How many there are. Throws RequestFault where they are no list of objects. */
export function readResponseTools(tally: FactsTally, tools: unknown, param: string): number {
  const records = readRecords(tools, param);
  for (const [index, tool] of records.entries()) readTool(tally, tool, `${param}[${index}]`);
  return records.length;
}

/** Tools that join in the middle of a conversation, wherever they stand. */
export function readAddedTools(tally: FactsTally, tools: unknown, param: string): void {
  for (const [index, tool] of itemsOf(tools).entries()) if (isRecord(tool)) readTool(tally, tool, `${param}[${index}]`);
}

function readTool(tally: FactsTally, tool: JsonRecord, param: string): void {
  const { type } = tool;
  tally.units += OWN_TOOLS.has(type) ? 1 : BUILT_IN_UNITS;
  // a namespace only groups tools of the client
  if (type === 'namespace') readAddedTools(tally, tool['tools'], `${param}.tools`);
  else if (!runsAtClient(tool)) addUnbounded(tally, 'ServerTools', `${param}.type`);
}

function runsAtClient(tool: JsonRecord): boolean {
  const { type, environment, execution } = tool;
  if (OWN_TOOLS.has(type) || BUILT_IN_TOOLS.has(type)) return true;
  if (type === 'tool_search') return execution === 'client';
  return type === 'shell' && isRecord(environment) && environment['type'] === 'local';
}
