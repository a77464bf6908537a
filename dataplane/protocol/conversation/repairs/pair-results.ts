/**
 * Puts the results of calls directly after the turn that called, as every provider requires: what stands between waits,
 * a call without a result gets one that says so, and a result without its call becomes text.
 */
import type { AssistantTurn, ContentPart, TextPart, ToolResultPart, Turn, UserPart, UserTurn } from '../request.ts';

const NO_RESULT = 'The tool call was not completed.';
const EARLIER_RESULT = 'Result of an earlier tool call:';

export function pairResults(turns: readonly Turn[]): readonly Turn[] {
  const results = resultsByCall(turns);
  const paired = new Set<ToolResultPart>();
  return turns.flatMap((turn): readonly Turn[] => {
    if (turn.role === 'User') return withoutResults(turn, { results, paired });
    if (turn.role === 'System') return [turn];
    const calls = callIds(turn);
    if (calls.length === 0) return [turn];
    const parts = calls.map((id) => results.get(id)?.shift() ?? missingResult(id, turn));
    for (const part of parts) paired.add(part);
    return [turn, { role: 'User', parts, path: turn.path }];
  });
}

/** The results of each call in their order: some providers give several calls one id. */
function resultsByCall(turns: readonly Turn[]): Map<string, ToolResultPart[]> {
  const found = new Map<string, ToolResultPart[]>();
  for (const part of turns.flatMap((turn) => (turn.role === 'User' ? turn.parts : [])))
    if (part.type === 'ToolResult') found.set(part.callId, [...(found.get(part.callId) ?? []), part]);
  return found;
}

function callIds({ parts }: AssistantTurn): readonly string[] {
  return parts.flatMap((part) => (part.type === 'ToolCall' ? [part.id] : []));
}

function missingResult(callId: string, { path }: AssistantTurn): ToolResultPart {
  return { type: 'ToolResult', callId, isError: true, parts: [{ type: 'Text', text: NO_RESULT, path }], path };
}

interface Pairing {
  /** Results that no call has taken yet. */
  readonly results: ReadonlyMap<string, ToolResultPart[]>;
  readonly paired: ReadonlySet<ToolResultPart>;
}

/**
 * A turn without the results that stand after their calls now; one that held nothing else is gone. A result that no
 * earlier call has taken becomes text, and no later call takes it.
 */
function withoutResults(turn: UserTurn, { results, paired }: Pairing): readonly Turn[] {
  const parts = turn.parts.flatMap((part): readonly UserPart[] => {
    if (part.type !== 'ToolResult') return [part];
    if (paired.has(part)) return [];
    results.get(part.callId)?.shift();
    return asText(part);
  });
  return parts.length === 0 && turn.parts.length > 0 ? [] : [{ ...turn, parts }];
}

function asText({ parts, path }: ToolResultPart): readonly ContentPart[] {
  const [only] = parts;
  if (!only) return [];
  const head: TextPart = { type: 'Text', text: EARLIER_RESULT, path };
  if (parts.length === 1 && only.type === 'Text') return [{ ...head, text: `${EARLIER_RESULT}\n${only.text}` }];
  return [head, ...parts];
}
