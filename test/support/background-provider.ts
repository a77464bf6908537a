/** A provider of background responses on the mock provider: tests end each of them. */
import { CUT } from './mock-provider.ts';
import type { MockProvider, RecordedRequest, Reply, Step } from './mock-provider.ts';
import { json, openaiError, sse } from './provider-answers.ts';

/** What a background response reports once it has ended. */
export interface BackgroundEnd {
  /** Providers have other words than OpenAI's, too. */
  readonly status: 'completed' | 'incomplete' | 'failed' | 'cancelled' | 'in_progress' | 'processing';
  readonly text?: string;
  /** null: the provider reports none. */
  readonly usage?: { readonly input_tokens: number; readonly output_tokens: number } | null;
}

export interface BackgroundResponses {
  end(id: string, end: BackgroundEnd): void;
  /** What a cancellation makes of a running response. */
  cancelsAs: BackgroundEnd;
  /** Called for each cancellation; the reply replaces the provider's own. */
  beforeCancel: (() => Reply) | undefined;
  /** Whether it deletes responses, or fails to. */
  deletes: boolean;
  /** Whether its responses say that they are in the background. */
  says: boolean;
  /** What comes after the first text of a stream: its end, or a step in which it is lost. */
  streamsAs: BackgroundEnd | Step;
  /** The provider's own ids, in the order of creation. */
  readonly made: readonly string[];
}

/** Ids are unique, as with a real provider. */
let latest = 0;

/** Scripts the provider to make responses `resp_bg1`, `resp_bg2`, … and to serve them. */
export function serveBackground(provider: MockProvider): BackgroundResponses {
  const ends = new Map<string, BackgroundEnd>();
  const made: string[] = [];
  const responses: BackgroundResponses = {
    end: (id, end) => void ends.set(id, end),
    made,
    cancelsAs: { status: 'cancelled', usage: null },
    streamsAs: CUT,
    beforeCancel: undefined,
    deletes: true,
    says: true,
  };
  provider.script((request) => answer(request, { ends, made, responses }));
  return responses;
}

interface Kept {
  readonly ends: Map<string, BackgroundEnd>;
  readonly made: string[];
  readonly responses: BackgroundResponses;
}

function answer(request: RecordedRequest, { ends, made, responses }: Kept): Reply {
  const [path = '', query = ''] = request.path.split('?');
  if (request.method === 'POST' && path === '/v1/responses') {
    const id = `resp_bg${++latest}`;
    made.push(id);
    ends.set(id, { status: 'in_progress' });
    if (request.json()['stream'] === true) return streamOf(id, responses.streamsAs, responses.says);
    return json(backgroundResponse(id, { status: 'in_progress' }, 'queued'));
  }
  const [, id = '', cancel] = /^\/v1\/responses\/([^/]+)(\/cancel)?$/.exec(path) ?? [];
  const known = ends.get(id);
  if (!known) return openaiError(404, `Response with id '${id}' not found.`);
  if (request.method === 'DELETE') {
    if (!responses.deletes) return openaiError(503, 'not now');
    ends.delete(id);
    return json({ id, object: 'response.deleted', deleted: true });
  }
  if (cancel !== undefined && responses.beforeCancel) return responses.beforeCancel();
  if (cancel !== undefined && !hasEnded(known)) ends.set(id, responses.cancelsAs);
  const rest = hasEnded(known) ? known : responses.streamsAs;
  if (query.includes('stream=true')) return streamOf(id, rest, responses.says);
  const response = backgroundResponse(id, ends.get(id) ?? known);
  return json(responses.says ? response : { ...response, background: undefined });
}

function hasEnded({ status }: BackgroundEnd): boolean {
  return status !== 'in_progress' && status !== 'processing';
}

function streamOf(id: string, rest: BackgroundEnd | Step, says: boolean): Reply {
  const event = (type: string, more: object): string => sse({ event: type, data: { type, ...more } });
  const response = (end: BackgroundEnd, shown?: string): object => {
    const whole = backgroundResponse(id, end, shown);
    return { response: says ? whole : { ...whole, background: undefined } };
  };
  const last = typeof rest === 'object' && 'status' in rest ? event(`response.${rest.status}`, response(rest)) : rest;
  return {
    headers: { 'content-type': 'text/event-stream' },
    steps: [
      event('response.created', response({ status: 'in_progress' }, 'queued')),
      event('response.in_progress', response({ status: 'in_progress' })),
      event('response.output_text.delta', { item_id: 'msg_bg', output_index: 0, content_index: 0, delta: 'ha' }),
      last,
    ],
  };
}

function backgroundResponse(id: string, { status, text = '', usage }: BackgroundEnd, shown: string = status): object {
  return {
    id,
    object: 'response',
    created_at: 1_700_000_000,
    model: 'upstream-name-7',
    status: shown,
    background: true,
    error: status === 'failed' ? { code: 'server_error', message: 'the mock provider gave up' } : null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    output:
      text === ''
        ? []
        : [
            {
              id: 'msg_bg',
              type: 'message',
              role: 'assistant',
              status: 'completed',
              content: [{ type: 'output_text', text, annotations: [] }],
            },
          ],
    usage: usage
      ? {
          input_tokens: usage.input_tokens,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: usage.output_tokens,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: usage.input_tokens + usage.output_tokens,
        }
      : null,
  };
}
