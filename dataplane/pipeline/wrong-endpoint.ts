/**
 * [P] The error for a model that the key can call, but not at this endpoint: it names the endpoints that are its own.
 */
import { GatewayError } from '../errors.ts';
import type { EndpointKind } from '../state/state.ts';

/** What a model of each kind does, and where. */
const USES: Readonly<Record<EndpointKind, string>> = {
  Chat: 'answers chats: POST /v1/chat/completions or /v1/messages',
  Embeddings: 'makes embeddings: POST /v1/embeddings',
  Images: 'makes images: POST /v1/images/generations',
  Videos: 'makes videos: POST /v1/videos',
};

/** "flux-1.1-pro makes images: POST /v1/images/generations". `why` is a sentence in front of it. */
export function wrongEndpoint(model: string, endpoints: ReadonlySet<EndpointKind>, why = ''): GatewayError {
  const uses = [...endpoints].map((kind) => USES[kind]);
  const message = `${why === '' ? model : `${why} It`} ${uses.join('; it ')}`;
  return new GatewayError('wrong_endpoint', message, { param: 'model' });
}
