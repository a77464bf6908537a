/**
 * The paths and methods of the API, from which routes are made and a wrong method is distinguished from an unknown path.
 * The endpoints that cost money have theirs in their own table.
 */
import { ENDPOINTS } from '../pipeline/endpoints/endpoints.ts';
import { REALTIME_PATH } from '../pipeline/endpoints/realtime.ts';

export interface PathRow {
  /** In fastify's syntax. */
  readonly path: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** What the rest of a path with a `*` ends in, as a regular expression; absent: anything. */
  readonly ending?: string;
}

/** The methods of a model in Google's protocol. */
const GEMINI_METHODS = ':(?:generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents|predict)';

export const PATHS = {
  home: { path: '/', method: 'GET' },
  models: { path: '/v1/models', method: 'GET' },
  model: { path: '/v1/models/*', method: 'GET' },
  countTokens: { path: '/v1/messages/count_tokens', method: 'POST' },
  responseTokens: { path: '/v1/responses/input_tokens', method: 'POST' },
  response: { path: '/v1/responses/:id', method: 'GET' },
  responseDeletion: { path: '/v1/responses/:id', method: 'DELETE' },
  responseCancellation: { path: '/v1/responses/:id/cancel', method: 'POST' },
  responseInput: { path: '/v1/responses/:id/input_items', method: 'GET' },
  conversations: { path: '/v1/conversations', method: 'POST' },
  conversation: { path: '/v1/conversations/:id', method: 'GET' },
  conversationUpdate: { path: '/v1/conversations/:id', method: 'POST' },
  conversationDeletion: { path: '/v1/conversations/:id', method: 'DELETE' },
  conversationItems: { path: '/v1/conversations/:id/items', method: 'GET' },
  conversationItemsCreation: { path: '/v1/conversations/:id/items', method: 'POST' },
  conversationItem: { path: '/v1/conversations/:id/items/:item', method: 'GET' },
  conversationItemDeletion: { path: '/v1/conversations/:id/items/:item', method: 'DELETE' },
  video: { path: '/v1/videos/:id', method: 'GET' },
  videoDeletion: { path: '/v1/videos/:id', method: 'DELETE' },
  videoContent: { path: '/v1/videos/:id/content', method: 'GET' },
  fileUpload: { path: '/v1/files', method: 'POST' },
  files: { path: '/v1/files', method: 'GET' },
  file: { path: '/v1/files/:id', method: 'GET' },
  fileDeletion: { path: '/v1/files/:id', method: 'DELETE' },
  fileContent: { path: '/v1/files/:id/content', method: 'GET' },
  batchCreation: { path: '/v1/batches', method: 'POST' },
  batches: { path: '/v1/batches', method: 'GET' },
  batch: { path: '/v1/batches/:id', method: 'GET' },
  batchCancellation: { path: '/v1/batches/:id/cancel', method: 'POST' },
  messageBatchCreation: { path: '/v1/messages/batches', method: 'POST' },
  messageBatches: { path: '/v1/messages/batches', method: 'GET' },
  messageBatch: { path: '/v1/messages/batches/:id', method: 'GET' },
  messageBatchDeletion: { path: '/v1/messages/batches/:id', method: 'DELETE' },
  messageBatchCancellation: { path: '/v1/messages/batches/:id/cancel', method: 'POST' },
  messageBatchResults: { path: '/v1/messages/batches/:id/results', method: 'GET' },
  geminiModels: { path: '/v1beta/models', method: 'GET' },
  geminiModel: { path: '/v1beta/models/*', method: 'GET' },
  geminiCall: { path: '/v1beta/models/*', method: 'POST', ending: GEMINI_METHODS },
  geminiCallV1: { path: '/v1/models/*', method: 'POST', ending: GEMINI_METHODS },
  realtime: { path: REALTIME_PATH, method: 'GET' },
  key: { path: '/v1/key', method: 'GET' },
  usage: { path: '/v1/usage/:id', method: 'GET' },
  pricing: { path: '/pricing', method: 'GET' },
  pricingJson: { path: '/pricing.json', method: 'GET' },
  pricingAsset: { path: '/pricing/*', method: 'GET' },
} as const satisfies Record<string, PathRow>;

const ROWS: readonly PathRow[] = [
  ...Object.values(ENDPOINTS).map(({ path }) => ({ path, method: 'POST' as const })),
  ...Object.values(PATHS),
];
const MATCHERS = ROWS.map(({ path, method, ending = '' }) => ({
  method,
  pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+').replace('*', `.+${ending}`)}$`),
}));

/** The methods that a path accepts; empty if there is no such path. */
export function allowedMethods(path: string): readonly string[] {
  const matching = MATCHERS.filter(({ pattern }) => pattern.test(path));
  return matching.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}
