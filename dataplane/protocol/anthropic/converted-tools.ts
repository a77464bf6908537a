/** Shared by the converters of Anthropic's tools to other protocols. */
import type { RequestPlan } from '../converter.ts';
import type { DroppedFields } from '../dropped-fields.ts';
import type { FieldLocation } from '../field-table.ts';
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';
import { toolParam } from '../provider-tools.ts';
import { unsupported } from '../unsupported.ts';
import { isCustomTool, isServerTool } from './tool-types.ts';

interface ToolContext {
  readonly dropped: DroppedFields;
  readonly providerTools: RequestPlan['providerTools'];
  /** Why a tool that Anthropic runs is refused. */
  readonly why: string;
}

/** Leaves out, and names, a tool that Anthropic runs. Throws RequestFault if the model's route refuses such tools. */
export function isLeftOut(
  tool: JsonRecord,
  { param, upstream }: FieldLocation,
  { dropped, providerTools, why }: ToolContext,
): boolean {
  // a member that no table has is refused by its name
  if (!isServerTool({ type: tool['type'] })) return false;
  if (providerTools === 'Refuse') throw unsupported(`${param}.type`, upstream, why);
  dropped.add(toolParam(param, tool));
  return true;
}

/** Throws RequestFault for a tool that Anthropic defines and the client runs. */
export function requireCustomTool({ type }: JsonRecord, { param, upstream }: FieldLocation): void {
  if (!isCustomTool(type)) throw unsupported(`${param}.type`, upstream, "its description is Anthropic's own");
}

/** The description of a tool, with its examples of input for protocols that have no field for them. */
export function describeTool(description: string | undefined, examples: readonly unknown[]): string | undefined {
  if (examples.length === 0) return description;
  const lines = ['Examples of input:', ...examples.map(writeJson)].join('\n');
  return description === undefined ? lines : `${description}\n\n${lines}`;
}
