/**
 * An account of a provider of Responses that keeps state, for tests: responses, conversations with their items, and
 * prompts. Its model answers with everything that the user has said in the conversation. An id that the account did not
 * give is refused as OpenAI refuses it.
 */
import type { MockProvider, RecordedRequest, Reply } from './mock-provider.ts';
import { json, openaiError, sse } from './provider-answers.ts';

type Item = Readonly<Record<string, unknown>>;

/** Scripts the provider to be this account. Its name begins all ids. */
export function keepState(provider: MockProvider, name: string): StateAccount {
  const account = new StateAccount(name);
  provider.script((request) => {
    if (request.path.startsWith('/v1/conversations')) return account.keep(request);
    return request.method === 'GET' ? account.retrieve(request) : account.respond(request.json());
  });
  return account;
}

export class StateAccount {
  /** The items of each conversation, by its own id. */
  readonly conversations = new Map<string, Item[]>();
  /** The text that a prompt stands for, by its id. */
  readonly prompts = new Map<string, string>();
  readonly #responses = new Map<string, readonly Item[]>();
  readonly #stored = new Map<string, Item>();
  readonly #name: string;
  #ids = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** GET /v1/responses/{id} */
  retrieve({ path }: RecordedRequest): Reply {
    const response = this.#stored.get(path.split('/').at(-1) ?? '');
    return response ? json(response) : openaiError(404, 'No such response.');
  }

  /** POST /v1/responses */
  respond(body: Item): Reply {
    const { previous_response_id: previous, input, stream } = body;
    const conversationId = idOf(body['conversation']);
    const conversation = conversationId === undefined ? [] : this.conversations.get(conversationId);
    const previousId = idOf(previous);
    const before = previousId === undefined ? [] : this.#responses.get(previousId);
    const promptId = idOf(body['prompt']);
    const prompt = promptId === undefined ? '' : this.prompts.get(promptId);
    if (!conversation || !before || prompt === undefined) return openaiError(400, 'No such conversation or response.');
    this.#add(conversation, typeof input === 'string' ? [{ role: 'user', content: input }] : input);
    const seen = [...before, ...conversation];
    const text = [prompt, ...seen.map(textOf)].filter((each) => each !== '').join(' ');
    const answer = {
      type: 'message',
      id: this.#newId('msg'),
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text, annotations: [] }],
    };
    conversation.push(answer);
    const id = this.#newId('resp');
    this.#responses.set(id, seen);
    const response = {
      id,
      object: 'response',
      created_at: 1_700_000_000,
      model: 'mock-model',
      error: null,
      status: 'completed',
      previous_response_id: previous ?? null,
      output: [answer],
      ...(conversationId !== undefined && { conversation: { id: conversationId } }),
      usage: { input_tokens: 10, output_tokens: 2, total_tokens: 12 },
    };
    this.#stored.set(id, response);
    return stream === true ? streamOf(response) : json(response);
  }

  /** /v1/conversations and below */
  keep(request: RecordedRequest): Reply {
    const { method, path } = request;
    const [, id, below, itemId] = /^\/v1\/conversations(?:\/([^/?]+)(\/items)?(?:\/([^/?]+))?)?/.exec(path) ?? [];
    if (id === undefined) return this.#create(request.json());
    const items = this.conversations.get(id);
    if (!items) return openaiError(404, `No conversation ${id}.`);
    if (below === undefined && method === 'DELETE') {
      this.conversations.delete(id);
      return json({ id, object: 'conversation.deleted', deleted: true });
    }
    if (below === undefined) return json(conversationOf(id, method === 'POST' ? request.json()['metadata'] : {}));
    if (method === 'POST') return json(listOf(this.#add(items, request.json()['items'])));
    return itemId === undefined ? json(listOf(items)) : keepItem(method, { id, items, itemId });
  }

  #create({ items, metadata }: Item): Reply {
    const id = this.#newId('conv');
    const conversation: Item[] = [];
    this.#add(conversation, items);
    this.conversations.set(id, conversation);
    return json(conversationOf(id, metadata));
  }

  #add(conversation: Item[], items: unknown): readonly Item[] {
    const added = itemsOf(items).map((item) => ({ type: 'message', id: this.#newId('msg'), ...item }));
    conversation.push(...added);
    return added;
  }

  #newId(kind: string): string {
    return `${kind}_${this.#name}${++this.#ids}`;
  }
}

interface KeptItem {
  readonly id: string;
  readonly items: Item[];
  readonly itemId: string;
}

function keepItem(method: string, { id, items, itemId }: KeptItem): Reply {
  const index = items.findIndex((item) => item['id'] === itemId);
  if (index < 0) return openaiError(404, `No item ${itemId}.`);
  if (method === 'GET') return json(items[index]);
  items.splice(index, 1);
  return json(conversationOf(id, {}));
}

function streamOf(response: Item): Reply {
  const event = (type: string, more: Item): string => sse({ event: type, data: { type, ...more } });
  return {
    headers: { 'content-type': 'text/event-stream' },
    steps: [
      event('response.created', { sequence_number: 0, response: { ...response, status: 'in_progress', output: [] } }),
      event('response.completed', { sequence_number: 1, response }),
    ],
  };
}

function conversationOf(id: string, metadata: unknown): Item {
  return { id, object: 'conversation', created_at: 1_700_000_000, metadata: metadata ?? {} };
}

function listOf(data: readonly Item[]): Item {
  return {
    object: 'list',
    data,
    first_id: data[0]?.['id'] ?? null,
    last_id: data.at(-1)?.['id'] ?? null,
    has_more: false,
  };
}

function itemsOf(value: unknown): readonly Item[] {
  return Array.isArray(value) ? (value as Item[]) : [];
}

/** An id alone, or in an object. */
function idOf(value: unknown): string | undefined {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : value;
  return typeof id === 'string' ? id : undefined;
}

/** What the user says in an item; empty for others. */
function textOf({ role, content }: Item): string {
  if (role !== 'user') return '';
  return typeof content === 'string'
    ? content
    : itemsOf(content)
        .map(({ text }) => text)
        .join(' ');
}
