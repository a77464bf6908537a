/**
 * The text in OpenAI's messages, for the meters.
 */
import { isRecord, itemsOf, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import type { OutputTally } from '../output-tally.ts';
import { detailText } from './detail-formats.ts';

/** Adds a message, or a chunk's delta, which has the same fields. */
export function tallyMessage(tally: OutputTally, message: JsonRecord): void {
  const { content, audio, tool_calls: calls } = message;
  if (typeof content === 'string') tally.add(content);
  else for (const part of itemsOf(content)) if (isRecord(part)) tally.add(part['text']);
  tally.add(message['refusal']);
  tally.add(reasoningOf(message));
  tallyCall(tally, message['function_call']);
  if (isRecord(audio)) tally.add(audio['transcript']);
  for (const call of itemsOf(calls)) {
    if (!isRecord(call)) continue;
    tallyCall(tally, call['function']);
    tallyCall(tally, call['custom']);
  }
}

function tallyCall(tally: OutputTally, call: unknown): void {
  if (!isRecord(call)) return;
  for (const name of ['name', 'arguments', 'input']) tally.add(call[name]);
}

/** Text, or the text parts that Mistral's reasoning models send; undefined: none. */
export function contentText(content: unknown): string | undefined {
  if (typeof content === 'string' || !Array.isArray(content)) return textOf(content);
  return textOf(
    content
      .filter(isRecord)
      .map((part) => stringOf(part['text']))
      .join(''),
  );
}

/**
 * `reasoning_content`, `reasoning` or `reasoning_details`, of which some providers send several with the same text, or
 * Mistral's thinking parts.
 */
export function reasoningOf({
  reasoning_content: reasoningContent,
  reasoning,
  reasoning_details: details,
  content,
}: JsonRecord): string | undefined {
  if (typeof reasoningContent === 'string' && reasoningContent !== '') return reasoningContent;
  if (typeof reasoning === 'string' && reasoning !== '') return reasoning;
  const detailed = itemsOf(details).filter(isRecord).map(detailText).join('');
  if (detailed !== '') return detailed;
  return Array.isArray(content)
    ? textOf(
        content
          .filter(isRecord)
          .map(({ thinking }) => thinkingText(thinking))
          .join(''),
      )
    : undefined;
}

function thinkingText(thinking: unknown): string {
  return typeof thinking === 'string'
    ? thinking
    : itemsOf(thinking)
        .filter(isRecord)
        .map(({ text }) => stringOf(text))
        .join('');
}
