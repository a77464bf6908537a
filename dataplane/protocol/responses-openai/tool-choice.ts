/**
 * Converts tool_choice of the Responses dialect.
 */
import { isOmittedKind, readKind } from '../field-table.ts';
import { isGiven, isRecord, itemsOf, stringOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { malformed, unsupported } from '../unsupported.ts';
import { CHOICES } from './table.ts';
import { location } from './target.ts';
import type { Target } from './target.ts';
import type { RequestTools } from './tools.ts';
import { searchName } from './tools.ts';

const MODES: ReadonlySet<unknown> = new Set(['auto', 'none', 'required']);

export interface ToolChoice {
  /** Undefined: the default. */
  readonly choice: unknown;
  /** The names of the tools that may be called, as they were sent; undefined: all. */
  readonly allowed: ReadonlySet<string> | undefined;
}

const DEFAULT: ToolChoice = { choice: undefined, allowed: undefined };

/** Throws RequestFault for a choice that cannot be converted. */
export function convertChoice(choice: unknown, tools: RequestTools, target: Target): ToolChoice {
  if (!isGiven(choice)) return DEFAULT;
  if (typeof choice === 'string') {
    if (MODES.has(choice)) return { choice: choice === 'auto' ? undefined : choice, allowed: undefined };
    throw unsupported('tool_choice', target.upstream);
  }
  if (!isRecord(choice)) throw malformed('tool_choice', 'a mode or an object');
  if (isOmittedKind(CHOICES, choice['type'])) {
    target.dropped.add('tool_choice');
    return DEFAULT;
  }
  const kind = readKind(CHOICES, choice['type'], location(target, 'tool_choice.type'));
  if (kind !== 'allowed_tools') return { choice: functionChoice(sentName(choice, tools)), allowed: undefined };
  const allowed = itemsOf(choice['tools'])
    .filter(isRecord)
    .map((tool) => sentName(tool, tools));
  return { choice: choice['mode'] === 'required' ? 'required' : undefined, allowed: new Set(allowed) };
}

function functionChoice(name: string): JsonRecord {
  return { type: 'function', function: { name } };
}

function sentName({ type, name, namespace }: JsonRecord, { names }: RequestTools): string {
  if (type === 'tool_search') return searchName(names);
  return names.send({
    kind: type === 'custom' ? 'Custom' : 'Function',
    name: stringOf(name),
    ...(typeof namespace === 'string' ? { namespace } : {}),
  });
}
