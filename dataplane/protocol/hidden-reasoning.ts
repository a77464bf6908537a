/**
 * Tells whether a model reasons in tokens that its stream does not show. They are billed, so until the provider reports
 * its figures, the visible text says nothing about the price of such a call.
 */
import { isGiven, isRecord } from './fields.ts';
import type { JsonRecord } from './fields.ts';

/** Models whose reasoning is hidden, or shown only as a summary, by their name at the provider. */
const HIDDEN = new RegExp(
  `(?:^|[/.:@])(?:${[
    String.raw`o\d(?:-|$)`,
    'gpt-[5-9]',
    'codex',
    'computer-use',
    String.raw`gemini-(?:2\.5|[3-9])`,
    'grok-(?:[4-9]|code)',
  ].join('|')})`,
  'i',
);
/** Variants of those that do not reason. Models of images reason from Gemini 3 on. */
const NEVER = /-chat(?:-|$)|non-reasoning|gemini-2\.5-flash-image/i;
/** Models that stream their whole reasoning. */
const SHOWN = /deepseek|kimi|moonshot|qwen|qwq|glm-|magistral|minimax|gpt-oss/i;
const OFF: ReadonlySet<unknown> = new Set([undefined, null, false, 'none', 'disabled', 'off']);

/** `asked`: the request asks for reasoning (asksForReasoning). */
export function hidesReasoning(upstreamModel: string, asked: boolean): boolean {
  if (SHOWN.test(upstreamModel)) return false;
  return asked || (HIDDEN.test(upstreamModel) && !NEVER.test(upstreamModel));
}

/** Whether a request, in any dialect, asks for reasoning. */
export function asksForReasoning({ thinking, reasoning, reasoning_effort: effort }: JsonRecord): boolean {
  if (!OFF.has(effort)) return true;
  if (isRecord(thinking)) return !OFF.has(thinking['type']);
  return isRecord(reasoning) && (!OFF.has(reasoning['effort']) || isGiven(reasoning['max_tokens']));
}
