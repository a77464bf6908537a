/** The demo provider's files and batches, in both protocols. They are kept in memory, and take a few seconds. */
import { BadRequest, isObject, requiredText } from './prompt.ts';
import type { Json } from './prompt.ts';

export interface KeptFile {
  readonly id: string;
  readonly filename: string;
  readonly content: string;
}

/** What becomes of one request of a batch. */
interface Outcome {
  readonly status: number;
  readonly body: unknown;
}

interface Batch {
  /** What the batch says of itself besides its progress. */
  readonly about: Json;
  readonly requests: readonly Json[];
  readonly createdMs: number;
  readonly cancelledMs?: number;
}

type Answer = (url: string, body: Json) => Outcome;

const MOST_KEPT = 1000;
const PAGE_ITEMS = 20;

/** Files of OpenAI's protocol. */
export class Files {
  readonly #files = new Map<string, KeptFile>();

  add(file: KeptFile): Json {
    keep(this.#files, file.id, file);
    return fileView(file);
  }

  find(id: string): KeptFile | undefined {
    return this.#files.get(id);
  }

  list(query: URLSearchParams): Json {
    return page([...this.#files.values()].map(fileView), query, 'after');
  }

  remove(id: string): boolean {
    return this.#files.delete(id);
  }
}

export function fileView({ id, filename, content }: KeptFile): Json {
  return {
    id,
    object: 'file',
    bytes: Buffer.byteLength(content),
    created_at: 1_735_689_600,
    filename,
    purpose: id.startsWith('file-out') ? 'batch_output' : 'batch',
    status: 'processed',
  };
}

interface BatchOptions {
  /** How long a batch takes. */
  readonly takesMs: number;
  readonly nowMs: () => number;
  readonly answer: Answer;
}

/** Batches of OpenAI's protocol, whose requests are in files. */
export class FileBatches {
  readonly #batches = new Map<string, Batch>();
  readonly #files: Files;
  readonly #options: BatchOptions;

  constructor(files: Files, options: BatchOptions) {
    this.#files = files;
    this.#options = options;
  }

  /** @throws BadRequest */
  make(id: string, body: Json): Json {
    const file = this.#files.find(requiredText(body, 'input_file_id'));
    if (!file) throw new BadRequest('input_file_id', 'there is no such file');
    const requests = file.content
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map(readLine);
    const { endpoint, completion_window: window, input_file_id: input, metadata = null } = body;
    const about = { endpoint, completion_window: window, input_file_id: input, metadata };
    keep(this.#batches, id, { about, requests, createdMs: this.#options.nowMs() });
    return this.find(id) ?? {};
  }

  find(id: string): Json | undefined {
    const batch = this.#batches.get(id);
    if (!batch) return undefined;
    const { about, requests, createdMs } = batch;
    const state = stateOf(batch, this.#options);
    const results = state === 'completed' ? this.#results(id, requests) : { completed: 0, failed: 0 };
    return {
      id,
      object: 'batch',
      ...about,
      errors: null,
      status: state,
      output_file_id: results.completed > 0 ? outputId(id) : null,
      error_file_id: null,
      created_at: Math.floor(createdMs / 1000),
      request_counts: { total: requests.length, ...results },
    };
  }

  list(query: URLSearchParams): Json {
    return page(
      [...this.#batches.keys()].map((id) => this.find(id) ?? {}),
      query,
      'after',
    );
  }

  cancel(id: string): Json | undefined {
    cancelIn(this.#batches, id, this.#options);
    return this.find(id);
  }

  #results(id: string, requests: readonly Json[]): { readonly completed: number; readonly failed: number } {
    const lines = requests.map(({ custom_id: customId, url, body }) => {
      const { status, body: answered } = this.#options.answer(String(url), isObject(body) ? body : {});
      return { custom_id: customId, response: { status_code: status, request_id: id, body: answered }, error: null };
    });
    const completed = lines.filter(({ response }) => response.status_code === 200);
    const content = completed.map((line) => `${JSON.stringify(line)}\n`).join('');
    if (completed.length > 0 && !this.#files.find(outputId(id)))
      this.#files.add({ id: outputId(id), filename: `${id}_output.jsonl`, content });
    return { completed: completed.length, failed: lines.length - completed.length };
  }
}

/** Batches of Anthropic's protocol. */
export class MessageBatches {
  readonly #batches = new Map<string, Batch>();
  readonly #options: BatchOptions;

  constructor(options: BatchOptions) {
    this.#options = options;
  }

  /** @throws BadRequest */
  make(id: string, { requests }: Json): Json {
    if (!Array.isArray(requests) || requests.length === 0)
      throw new BadRequest('requests', 'requests is required: a list of at least one request');
    keep(this.#batches, id, { about: {}, requests: requests.filter(isObject), createdMs: this.#options.nowMs() });
    return this.find(id) ?? {};
  }

  find(id: string): Json | undefined {
    const batch = this.#batches.get(id);
    if (!batch) return undefined;
    const state = stateOf(batch, this.#options);
    const count = batch.requests.length;
    const succeeded = state === 'completed' ? this.#outcomes(batch).filter(({ status }) => status === 200).length : 0;
    return {
      id,
      type: 'message_batch',
      processing_status: state === 'in_progress' ? state : 'ended',
      request_counts: {
        processing: state === 'in_progress' ? count : 0,
        succeeded,
        errored: state === 'completed' ? count - succeeded : 0,
        canceled: state === 'cancelled' ? count : 0,
        expired: 0,
      },
      created_at: new Date(batch.createdMs).toISOString(),
      expires_at: new Date(batch.createdMs + 86_400_000).toISOString(),
      ended_at: state === 'in_progress' ? null : new Date(batch.createdMs + this.#options.takesMs).toISOString(),
      archived_at: null,
      cancel_initiated_at: batch.cancelledMs === undefined ? null : new Date(batch.cancelledMs).toISOString(),
      results_url: state === 'in_progress' ? null : `/v1/messages/batches/${id}/results`,
    };
  }

  list(query: URLSearchParams): Json {
    return page(
      [...this.#batches.keys()].map((id) => this.find(id) ?? {}),
      query,
      'after_id',
    );
  }

  cancel(id: string): Json | undefined {
    cancelIn(this.#batches, id, this.#options);
    return this.find(id);
  }

  remove(id: string): boolean {
    return this.#batches.delete(id);
  }

  /** One result per line; undefined if there is no such batch, or it has not ended. */
  results(id: string): string | undefined {
    const batch = this.#batches.get(id);
    const state = batch && stateOf(batch, this.#options);
    if (!batch || state === 'in_progress') return undefined;
    const outcomes = state === 'completed' ? this.#outcomes(batch) : [];
    return batch.requests
      .map(({ custom_id: customId }, index) => {
        const { status, body } = outcomes[index] ?? {};
        if (status === undefined) return { custom_id: customId, result: { type: 'canceled' } };
        const result = status === 200 ? { type: 'succeeded', message: body } : { type: 'errored', error: body };
        return { custom_id: customId, result };
      })
      .map((line) => `${JSON.stringify(line)}\n`)
      .join('');
  }

  #outcomes({ requests }: Batch): readonly Outcome[] {
    return requests.map(({ params }) => this.#options.answer('/v1/messages', isObject(params) ? params : {}));
  }
}

type State = 'in_progress' | 'completed' | 'cancelled';

function stateOf({ createdMs, cancelledMs }: Batch, { nowMs, takesMs }: BatchOptions): State {
  if (cancelledMs !== undefined) return 'cancelled';
  return nowMs() - createdMs >= takesMs ? 'completed' : 'in_progress';
}

function cancelIn(batches: Map<string, Batch>, id: string, options: BatchOptions): void {
  const batch = batches.get(id);
  if (batch && stateOf(batch, options) === 'in_progress') batches.set(id, { ...batch, cancelledMs: options.nowMs() });
}

function outputId(id: string): string {
  return `file-out-${id}`;
}

function readLine(line: string): Json {
  const value: unknown = JSON.parse(line);
  if (!isObject(value)) throw new BadRequest('input_file_id', 'a line of the file is no JSON object');
  return value;
}

function keep<T>(kept: Map<string, T>, id: string, value: T): void {
  if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value ?? '');
  kept.set(id, value);
}

function page(all: readonly Json[], query: URLSearchParams, cursor: 'after' | 'after_id'): Json {
  const after = query.get(cursor);
  const start = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
  const limit = Math.max(1, Number(query.get('limit') ?? PAGE_ITEMS) || PAGE_ITEMS);
  const data = all.slice(start, start + limit);
  return {
    object: 'list',
    data,
    first_id: data[0]?.['id'] ?? null,
    last_id: data.at(-1)?.['id'] ?? null,
    has_more: start + data.length < all.length,
  };
}
