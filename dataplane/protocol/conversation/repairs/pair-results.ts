/**
 * Puts the results of calls directly after the turn that called, as every provider requires: what stands between waits,
 * a call without a result gets one that says so, and a result without its call becomes text.
 */
import type { AssistantTurn, ContentPart, TextPart, ToolResultPart, Turn, UserPart } from '../request.ts';

const NO_RESULT = 'The tool call was not completed.';
const EARLIER_RESULT = 'Result of an earlier tool call:';

export function pairResults(turns: readonly Turn[]): readonly Turn[] {
  const results = resultsByCall(turns);
  const paired = new Set<ToolResultPart>();
  return turns.flatMap((turn): readonly Turn[] => {
    if (turn.role === 'User') return withoutPaired(turn, paired);
    if (turn.role === 'System') return [turn];
    const calls = callIds(turn);
    if (calls.length === 0) return [turn];
    const parts = calls.map((id) => takeResult(results, id) ?? missingResult(id, turn));
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

function takeResult(results: Map<string, ToolResultPart[]>, id: string): ToolResultPart | undefined {
  return results.get(id)?.shift();
}

function callIds({ parts }: AssistantTurn): readonly string[] {
  return parts.flatMap((part) => (part.type === 'ToolCall' ? [part.id] : []));
}

function missingResult(callId: string, { path }: AssistantTurn): ToolResultPart {
  return { type: 'ToolResult', callId, isError: true, parts: [{ type: 'Text', text: NO_RESULT, path }], path };
}

/** A turn whose results all stand after their calls now says nothing more, unless it has other parts. */
function withoutPaired(turn: Turn & { readonly role: 'User' }, paired: ReadonlySet<ToolResultPart>): readonly Turn[] {
  const parts = turn.parts.flatMap((part): readonly UserPart[] => {
    if (part.type !== 'ToolResult') return [part];
    return paired.has(part) ? [] : asText(part);
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
