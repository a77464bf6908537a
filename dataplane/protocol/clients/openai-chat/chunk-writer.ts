/** Writes the chunks of one stream. Their common fields are serialized once. */
import type { JsonRecord } from '../../fields.ts';
import { writeJson } from '../../json-value.ts';

export interface ChunkHead {
  readonly id: string;
  readonly createdSeconds: number;
  readonly model: string;
}

/** What a chunk has beside its delta. Log probabilities are JSON. */
interface ChunkEnd {
  readonly logProbabilities?: string | undefined;
  readonly finishReason?: string;
  readonly serviceTier?: string | undefined;
}

export class ChunkWriter {
  readonly #head: string;
  readonly #usageNull: string;

  /** `usageNull`: the client asked for usage, and expects `"usage":null` in all chunks but the last. */
  constructor({ id, createdSeconds, model }: ChunkHead, usageNull: boolean) {
    const head = JSON.stringify({ id, object: 'chat.completion.chunk', created: createdSeconds, model });
    this.#head = `data: ${head.slice(0, -1)},"choices":[`;
    this.#usageNull = usageNull ? ',"usage":null' : '';
  }

  /** A piece of text, in the delta's member of this name. */
  text(
    index: number,
    member: 'content' | 'reasoning_content' | 'refusal',
    { text, logProbabilities }: { readonly text: string; readonly logProbabilities?: string | undefined },
  ): string {
    return this.#chunk(index, `{"${member}":${JSON.stringify(text)}}`, { logProbabilities });
  }

  /** A piece of a tool call's arguments; `call`: its position. */
  arguments(index: number, call: number, text: string): string {
    const delta = `{"tool_calls":[{"index":${call},"function":{"arguments":${JSON.stringify(text)}}}]}`;
    return this.#chunk(index, delta);
  }

  delta(index: number, delta: JsonRecord): string {
    return this.#chunk(index, writeJson(delta));
  }

  finish(index: number, finishReason: string, end: Pick<ChunkEnd, 'serviceTier' | 'logProbabilities'>): string {
    return this.#chunk(index, '{}', { ...end, finishReason });
  }

  usage(usage: JsonRecord): string {
    return `${this.#head}],"usage":${writeJson(usage)}}\n\n`;
  }

  #chunk(index: number, delta: string, { logProbabilities, finishReason, serviceTier }: ChunkEnd = {}): string {
    const reason = finishReason === undefined ? 'null' : JSON.stringify(finishReason);
    const choice = `{"index":${index},"delta":${delta},"logprobs":${logProbabilities ?? 'null'},"finish_reason":${reason}}`;
    const tier = serviceTier === undefined ? '' : `,"service_tier":${JSON.stringify(serviceTier)}`;
    return `${this.#head}${choice}]${tier}${this.#usageNull}}\n\n`;
  }
}
