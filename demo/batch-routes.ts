/** Requests about the demo provider's files and batches. */
import { FileBatches, Files, fileView, MessageBatches } from './batches.ts';
import { BadRequest } from './prompt.ts';
import type { Json } from './prompt.ts';

/** A request, as far as it is about files or batches. */
export interface BatchCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** For what it makes. */
  readonly id: string;
  readonly readJson: () => Promise<Json>;
  readonly readForm: () => Promise<FormData>;
}

/** What is sent: a value as JSON, or a text as it is; undefined: there is no such thing. */
export type BatchReply = { readonly json: unknown } | { readonly text: string } | undefined;

interface Options {
  readonly takesMs: number;
  readonly nowMs: () => number;
  readonly answer: (url: string, body: Json) => { readonly status: number; readonly body: unknown };
}

export class BatchRoutes {
  readonly #files = new Files();
  readonly #batches: FileBatches;
  readonly #messages: MessageBatches;

  constructor(options: Options) {
    this.#batches = new FileBatches(this.#files, options);
    this.#messages = new MessageBatches(options);
  }

  /** Undefined: the request is about something else. */
  serve(call: BatchCall): Promise<BatchReply> | undefined {
    const [, kind, id, below = ''] =
      /^\/v1\/(files|batches|messages\/batches)(?:\/([^/]+)(\/[a-z]+)?)?$/.exec(call.path) ?? [];
    if (kind === undefined) return undefined;
    const line = `${call.method} ${below}`;
    if (kind === 'files') return id === undefined ? this.#allFiles(call) : Promise.resolve(this.#file(id, line));
    const isMessages = kind !== 'batches';
    if (id === undefined) return isMessages ? this.#allMessages(call) : this.#allBatches(call);
    return Promise.resolve(isMessages ? this.#messageBatch(id, line) : this.#batch(id, line));
  }

  async #allFiles(call: BatchCall): Promise<BatchReply> {
    if (call.method !== 'POST') return { json: this.#files.list(call.query) };
    const form = await call.readForm();
    const file = form.get('file');
    if (!(file instanceof File)) throw new BadRequest('file', 'file is required: a file in a form');
    return { json: this.#files.add({ id: `file-${call.id}`, filename: file.name, content: await file.text() }) };
  }

  #file(id: string, line: string): BatchReply {
    const file = this.#files.find(id);
    if (!file) return undefined;
    if (line === 'GET /content') return { text: file.content };
    if (!line.startsWith('DELETE')) return { json: fileView(file) };
    this.#files.remove(id);
    return { json: { id, object: 'file', deleted: true } };
  }

  async #allBatches(call: BatchCall): Promise<BatchReply> {
    if (call.method !== 'POST') return { json: this.#batches.list(call.query) };
    return { json: this.#batches.make(`batch_${call.id}`, await call.readJson()) };
  }

  #batch(id: string, line: string): BatchReply {
    return asJson(line === 'POST /cancel' ? this.#batches.cancel(id) : this.#batches.find(id));
  }

  async #allMessages(call: BatchCall): Promise<BatchReply> {
    if (call.method !== 'POST') return { json: this.#messages.list(call.query) };
    return { json: this.#messages.make(`msgbatch_${call.id}`, await call.readJson()) };
  }

  #messageBatch(id: string, line: string): BatchReply {
    if (line === 'GET /results') {
      const text = this.#messages.results(id);
      return text === undefined ? undefined : { text };
    }
    if (!line.startsWith('DELETE'))
      return asJson(line === 'POST /cancel' ? this.#messages.cancel(id) : this.#messages.find(id));
    return this.#messages.remove(id) ? { json: { id, type: 'message_batch_deleted' } } : undefined;
  }
}

function asJson(value: Json | undefined): BatchReply {
  return value && { json: value };
}
