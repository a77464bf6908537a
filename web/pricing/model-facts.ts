/** [P] A model's endpoints, inputs, outputs and limits, for pages and lists of models. */

export type Endpoint = 'Chat' | 'Embeddings' | 'Images' | 'Videos' | 'Speech' | 'Transcriptions' | 'Realtime';
export type Modality = 'text' | 'image' | 'video' | 'audio' | 'embedding';

export interface ModelFacts {
  readonly endpoints: readonly Endpoint[];
  readonly inputs: readonly Modality[];
  readonly outputs: readonly Modality[];
  /** null: not stated. */
  readonly contextTokens: number | null;
  /** null: not stated, or the model makes no tokens. */
  readonly maxOutputTokens: number | null;
}

/** A model as one route serves it; 0 tokens: not stated. */
export interface ServedModel {
  readonly endpoints: Iterable<Endpoint>;
  readonly acceptsImages: boolean;
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
}

export const ENDPOINTS: readonly Endpoint[] = [
  'Chat',
  'Embeddings',
  'Images',
  'Videos',
  'Speech',
  'Transcriptions',
  'Realtime',
];
/** The paths of each endpoint. */
const ENDPOINT_PATHS: Readonly<Record<Endpoint, readonly string[]>> = {
  Chat: ['/v1/chat/completions', '/v1/messages'],
  Embeddings: ['/v1/embeddings', '/v1/moderations', '/v1/rerank'],
  Images: ['/v1/images/generations'],
  Videos: ['/v1/videos'],
  Speech: ['/v1/audio/speech'],
  Transcriptions: ['/v1/audio/transcriptions', '/v1/audio/translations'],
  Realtime: ['/v1/realtime'],
};
/** Further paths, of models that take images. */
const PICTURE_PATHS: Readonly<Partial<Record<Endpoint, readonly string[]>>> = {
  Images: ['/v1/images/edits', '/v1/images/variations'],
};
const OUTPUTS: Readonly<Record<Endpoint, readonly Modality[]>> = {
  Chat: ['text'],
  Embeddings: ['embedding'],
  Images: ['image'],
  Videos: ['video'],
  Speech: ['audio'],
  Transcriptions: ['text'],
  Realtime: ['text', 'audio'],
};

/** A model's facts over all routes that serve it: what any of them takes, within limits that hold on each. */
export function modelFacts(served: Iterable<ServedModel>): ModelFacts {
  const all = [...served];
  const offered = new Set(all.flatMap(({ endpoints }) => [...endpoints]));
  const endpoints = ENDPOINTS.filter((endpoint) => offered.has(endpoint));
  return {
    endpoints,
    inputs: inputsOf(all, endpoints),
    outputs: [...new Set(endpoints.flatMap((endpoint) => OUTPUTS[endpoint]))],
    contextTokens: smallest(all.map(({ contextTokens }) => contextTokens)),
    maxOutputTokens: smallest(all.map(({ maxOutputTokens }) => maxOutputTokens)),
  };
}

/** A transcription and a session read audio, and text if there is any. */
function inputsOf(all: readonly ServedModel[], endpoints: readonly Endpoint[]): readonly Modality[] {
  return [
    'text',
    ...(all.some(({ acceptsImages }) => acceptsImages) ? (['image'] as const) : []),
    ...(endpoints.includes('Transcriptions') || endpoints.includes('Realtime') ? (['audio'] as const) : []),
  ];
}

/** The facts as lists of models have them, beside OpenAI's own fields; the names are those that others use too. */
export interface ModelFactsJson {
  /** Paths. */
  readonly endpoints: readonly string[];
  readonly input_modalities: readonly Modality[];
  readonly output_modalities: readonly Modality[];
  readonly context_length: number | null;
  readonly max_output_tokens: number | null;
}

/** The paths at which a model can be called. */
export function endpointPaths({ endpoints, inputs }: Pick<ModelFacts, 'endpoints' | 'inputs'>): readonly string[] {
  return endpoints.flatMap((endpoint) => [
    ...ENDPOINT_PATHS[endpoint],
    ...(inputs.includes('image') ? (PICTURE_PATHS[endpoint] ?? []) : []),
  ]);
}

export function modelFactsJson(facts: ModelFacts): ModelFactsJson {
  return {
    endpoints: endpointPaths(facts),
    input_modalities: facts.inputs,
    output_modalities: facts.outputs,
    context_length: facts.contextTokens,
    max_output_tokens: facts.maxOutputTokens,
  };
}

function smallest(limits: readonly number[]): number | null {
  const stated = limits.filter((limit) => limit > 0);
  return stated.length === 0 ? null : Math.min(...stated);
}
