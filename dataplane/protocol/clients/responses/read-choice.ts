/** Reads the choice among tools. */
import type { ToolChoice } from '../../conversation/request.ts';
import { isOmittedKind, kindOf } from '../../field-table.ts';
import type { UnreadField } from '../../field-table.ts';
import { isGiven, isRecord, itemsOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { malformed } from '../../unsupported.ts';
import type { RequestTools } from './read-tools.ts';
import { CHOICES } from './table.ts';
import { toolIdentity } from './tool-names.ts';

const PATH = 'tool_choice';
const MODES: Readonly<Record<string, ToolChoice['mode']>> = { none: 'None', required: 'Required' };

/** Undefined: the default. Throws RequestFault for a choice that is malformed. */
export function readChoice(choice: unknown, tools: RequestTools, unread: UnreadField[]): ToolChoice | undefined {
  if (!isGiven(choice) || choice === 'auto') return undefined;
  if (typeof choice === 'string') {
    const mode = MODES[choice];
    if (!mode) unread.push({ path: PATH, handling: 'Refused', why: undefined });
    return mode && { mode, names: undefined };
  }
  if (!isRecord(choice)) throw malformed(PATH, 'a mode or an object');
  if (isOmittedKind(CHOICES, choice['type'])) {
    unread.push({ path: PATH, handling: 'Omitted', why: undefined });
    return undefined;
  }
  const kind = kindOf(CHOICES, choice['type'], { param: `${PATH}.type`, unread });
  if (!kind) return undefined;
  return kind === 'allowed_tools' ? readAllowed(choice, tools) : { mode: 'Required', names: [nameIn(choice, tools)] };
}

/** Where none of them is left, none may be called. */
function readAllowed({ mode, tools: given }: JsonRecord, tools: RequestTools): ToolChoice {
  const declared = new Set(tools.declared.map(({ name }) => name));
  const names = itemsOf(given)
    .filter(isRecord)
    .map((tool) => nameIn(tool, tools))
    .filter((name) => declared.has(name));
  if (names.length === 0) return { mode: 'None', names: undefined };
  return { mode: mode === 'required' ? 'Required' : 'Auto', names };
}

function nameIn({ type, name, namespace }: JsonRecord, tools: RequestTools): string {
  if (type === 'tool_search') return tools.searchName;
  return tools.names.send(toolIdentity(type === 'custom' ? 'Custom' : 'Function', name, namespace));
}
