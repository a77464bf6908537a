/** Sessions over a WebSocket, whose events pass through to providers of OpenAI's protocol. */
import { GatewayError } from '../../errors.ts';
import { outputOfModelLimit } from '../context.ts';
import type { EndpointCall, Received } from '../context.ts';
import { Conversation } from '../realtime/conversation.ts';
import { callOf } from './endpoint.ts';
import type { Endpoint } from './endpoint.ts';

interface SessionFacts {
  readonly model: string;
}

export const REALTIME_PATH = '/v1/realtime';

const REALTIME: Endpoint<SessionFacts> = {
  kind: 'Realtime',
  read: () => Promise.reject(new Error('a session has no body')),
  asks: ({ model }) => ({
    model,
    stream: true,
    output: outputOfModelLimit(1),
    modalities: ['audioInput', 'audioOutput', 'imageInput'],
  }),
  check: (_facts, { model, price }) => {
    if (price?.priced.has('audioInput') && price.priced.has('audioOutput')) return;
    const message =
      `The model "${model.name}" has no price for audio, so it cannot be called here. Ask the platform team for ` +
      'audioInput and audioOutput in its price.';
    throw new GatewayError('model_not_priced', message, { param: 'model' });
  },
  boundInput: (_facts, { model }) => new Conversation(model).inputTokensAhead,
  converter: () => undefined,
  serves: ({ target: { protocol, platform = 'Direct' } }) => protocol === 'OpenAI' && platform === 'Direct',
};

/** What a session asks for, by the query of its request. Rejects with invalid_request. */
export function readSessionCall(query: URLSearchParams): (received: Received) => Promise<EndpointCall> {
  return async (received) => {
    const models = query.getAll('model');
    const [model = ''] = models;
    if (models.length !== 1 || model === '') throw malformedQuery('The query must name one model: ?model=…', 'model');
    const other = [...query.keys()].find((name) => name !== 'model');
    if (other !== undefined)
      throw malformedQuery(`The query takes "model" only, and no "${other.slice(0, 50)}".`, other.slice(0, 50));
    return callOf(REALTIME, { model }, received);
  };
}

function malformedQuery(message: string, param: string): GatewayError {
  return new GatewayError('invalid_request', message, { param });
}
