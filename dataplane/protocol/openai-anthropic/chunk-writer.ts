/**
 * Writes the chunks of one stream. Their common fields are serialized once.
 */
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';

export interface ChunkHead {
  readonly id: string;
  readonly createdSeconds: number;
  readonly model: string;
}

export class ChunkWriter {
  readonly #head: string;
  readonly #delta: string;
  readonly #tail: string;
  readonly #usageNull: string;

  /** `usageNull`: the client asked for usage, and expects `"usage":null` in all chunks but the last. */
  constructor({ id, createdSeconds, model }: ChunkHead, usageNull: boolean) {
    const head = JSON.stringify({ id, object: 'chat.completion.chunk', created: createdSeconds, model });
    this.#head = `data: ${head.slice(0, -1)},"choices":[`;
    this.#usageNull = usageNull ? ',"usage":null' : '';
    this.#delta = `${this.#head}{"index":0,"delta":`;
    this.#tail = `,"logprobs":null,"finish_reason":null}]${this.#usageNull}}\n\n`;
  }

  /** A piece of text, in the delta's member of this name. */
  text(member: 'content' | 'reasoning_content' | 'refusal', text: string): string {
    return `${this.#delta}{"${member}":${JSON.stringify(text)}}${this.#tail}`;
  }

  /** A piece of a tool call's arguments. */
  arguments(index: number, text: string): string {
    const call = `{"index":${index},"function":{"arguments":${JSON.stringify(text)}}}`;
    return `${this.#delta}{"tool_calls":[${call}]}${this.#tail}`;
  }

  delta(delta: JsonRecord): string {
    return `${this.#delta}${writeJson(delta)}${this.#tail}`;
  }

  finish(reason: string, serviceTier: string | undefined): string {
    const tier = serviceTier === undefined ? '' : `,"service_tier":${JSON.stringify(serviceTier)}`;
    return `${this.#delta}{},"logprobs":null,"finish_reason":${JSON.stringify(reason)}}]${tier}${this.#usageNull}}\n\n`;
  }

  usage(usage: JsonRecord): string {
    return `${this.#head}],"usage":${writeJson(usage)}}\n\n`;
  }
}
