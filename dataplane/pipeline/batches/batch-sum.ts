/**
 * [P] Adds up the requests of a batch on one channel: each is checked as a single call, and held at the price of a batch
 * of its model. The batch is a call of its own, whose bounds are what its requests cost together, and what one of them
 * can consume.
 */
import { GatewayError } from '../../errors.ts';
import { STANDARD_TIER } from '#price/price.ts';
import type { Modality, Uses } from '#price/price.ts';
import type { CompiledPrice } from '#price/sheet.ts';
import type { BatchEndpoint, BatchForm, LinePlan } from '../../protocol/batches/requests.ts';
import type { Converter } from '../../protocol/converter.ts';
import { CONVERSATION_ID, RESPONSE_ID } from '../../protocol/openai/response-seals.ts';
import type { Candidate, KeyState, State } from '../../state/state.ts';
import { boundCall } from '../bounds.ts';
import type { BatchModel, CallBounds, EndpointCall } from '../context.ts';
import { outputOfModelLimit } from '../context.ts';
import { ableToContinue, continuesImages } from '../kept-images.ts';
import { sealFor } from '../sealing-context.ts';
import { areConfusable } from './served-name.ts';

/** The service tier at whose price batches are billed; a model without it is billed at its standard price. */
const BATCH_TIER = 'batch';

/** A channel that may take a batch. */
export interface BatchChannel {
  readonly candidate: Candidate;
  readonly price: CompiledPrice;
  readonly key: KeyState;
  readonly state: State;
  readonly form: BatchForm;
}

/** What the latest request adds to. */
interface Most {
  readonly requestTokens: number;
  readonly inputTokens: number;
  /** All choices together. */
  readonly outputTokens: number;
  readonly requests: number;
  readonly oneHourCache: boolean;
  readonly asksForReasoning: boolean;
  readonly regions: readonly string[];
  readonly modalities: readonly Modality[];
  readonly uses: Uses;
}

const NOTHING: Most = {
  requestTokens: 0,
  inputTokens: 0,
  outputTokens: 0,
  requests: 1,
  oneHourCache: false,
  asksForReasoning: false,
  regions: [],
  modalities: [],
  uses: {},
};

/** The requests of one model. */
class ModelSum {
  readonly channel: BatchChannel;
  /** The index of its plan among those of all models. */
  readonly plan: number;
  #most = NOTHING;
  #amountNanoUsd = 0n;
  #estimatedTokens = 0;
  #count = 0;

  constructor(channel: BatchChannel, plan: number) {
    this.channel = channel;
    this.plan = plan;
  }

  /** Returns the output limit of the request; undefined: it has no output. Throws GatewayError. */
  add(call: EndpointCall): number | undefined {
    const { candidate, price, key, state } = this.channel;
    checkStored(state, key, call);
    this.#checkAt(call);
    const bounds = boundCall({ ...call, onlyTier: BATCH_TIER }, candidate, price, key);
    this.#amountNanoUsd += bounds.amountNanoUsd;
    this.#estimatedTokens += bounds.estimatedInputTokens;
    this.#most = mostOf(this.#most, call, bounds);
    this.#count++;
    return call.output && bounds.outputTokens;
  }

  get amountNanoUsd(): bigint {
    return this.#amountNanoUsd;
  }

  get uses(): Uses {
    return this.#most.uses;
  }

  get model(): BatchModel {
    const { oneHourCache, asksForReasoning, modalities } = this.#most;
    return { candidate: this.channel.candidate, bounds: this.#bounds(), oneHourCache, asksForReasoning, modalities };
  }

  #bounds(): CallBounds {
    const { requestTokens, inputTokens, outputTokens, asksForReasoning: _asked, ...most } = this.#most;
    return {
      price: this.channel.price,
      reach: { ...most, serviceTiers: [BATCH_TIER] },
      requestTokens,
      inputTokens,
      outputTokens,
      // of a response without usage
      estimatedInputTokens: Math.ceil(this.#estimatedTokens / this.#count),
      amountNanoUsd: this.#amountNanoUsd,
      minimumNanoUsd: this.#amountNanoUsd,
    };
  }

  #checkAt(call: EndpointCall): void {
    const { candidate, form, key, state } = this.channel;
    const converter = call.converter(candidate);
    const passes = converter?.client === form && converter.upstream === form && converter.api === undefined;
    if (!passes || !candidate.model.endpoints.has(call.kind)) throw notPassedThrough(call.model);
    call.check(candidate);
    if (call.unbounded(candidate)) throw unbounded();
    ableToContinue([candidate], continuesImages(state, key, call), call.model);
  }
}

export class BatchSum {
  /** As it serves the first model. */
  readonly channel: BatchChannel;
  /** How each request is sent; its plan is that of its model. */
  readonly lines: LinePlan[] = [];
  #first: BatchedCall | undefined;
  /** By the client's name, in the order in which they came. */
  readonly #models = new Map<string, ModelSum>();

  constructor(channel: BatchChannel) {
    this.channel = channel;
  }

  /** Each model's, in the order of plans. */
  get channels(): readonly BatchChannel[] {
    return [...this.#models.values()].map(({ channel }) => channel);
  }

  get amountNanoUsd(): bigint {
    return this.#models.values().reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n);
  }

  /** Whether it has requests for the model, or none at all. */
  knows(model: string): boolean {
    return this.#models.size === 0 || this.#models.has(model);
  }

  /**
   * Makes it take requests for another model. `channels`: those that serve it. Throws GatewayError where the sum's
   * channel is none of them, or nothing would tell the models' results apart.
   */
  takeModel(model: string, channels: readonly BatchChannel[]): void {
    const { candidate: own } = this.channel;
    const found = channels.find(
      ({ candidate: { target, group } }) => target.id === own.target.id && group === own.group,
    );
    const first = this.#first?.call.model ?? '';
    if (!found)
      throw fault(
        `No channel serves both "${first}" and "${model}" in batches: make a batch for each of them.`,
        'model',
      );
    for (const [name, { channel }] of this.#models)
      if (areConfusable(channel.candidate.upstreamModel, found.candidate.upstreamModel))
        throw fault(
          `"${name}" and "${model}" are one model of the provider, or may be, so that their results cannot be told ` +
            'apart: make a batch for each of them.',
          'model',
        );
    this.#models.set(model, new ModelSum(found, this.#models.size));
  }

  /** Throws GatewayError for a request that the channel cannot take within a batch. */
  add(call: EndpointCall, endpoint: BatchEndpoint): void {
    this.#first ??= { call, endpoint };
    if (this.#models.size === 0) this.#models.set(call.model, new ModelSum(this.channel, 0));
    const sum = this.#models.get(call.model);
    if (!sum) throw anotherModel(this.#first.call.model);
    checkSame({ call, endpoint }, this.#first);
    checkAlone(call);
    const limit = sum.add(call);
    this.lines.push({ limit, plan: sum.plan });
  }

  /** The batch as one call. `converter`: of its creation, at this channel alone. */
  callOf(converter: Converter): EndpointCall {
    const { candidate } = this.channel;
    const first = this.#first;
    const sums = [...this.#models.values()];
    const [model] = sums.map((sum) => sum.model);
    if (!first || !model) throw noRequests();
    const { kind, output, region } = first.call;
    const { bounds, oneHourCache, asksForReasoning, modalities } = model;
    const amountNanoUsd = this.amountNanoUsd;
    return {
      kind,
      batchOf: first.endpoint,
      model: first.call.model,
      stream: false,
      output: output && outputOfModelLimit(1),
      generations: 1,
      oneHourCache,
      asksForReasoning,
      wantsStreamUsage: false,
      background: true,
      onlyTier: BATCH_TIER,
      ...(region !== undefined && { region }),
      modalities,
      together: { ...bounds, amountNanoUsd, minimumNanoUsd: amountNanoUsd },
      ...(sums.length > 1 && { models: sums.map((sum) => sum.model) }),
      check: () => undefined,
      boundInput: () => bounds.requestTokens,
      estimateInput: () => 0,
      uses: () => sums[0]?.uses ?? {},
      unbounded: () => false,
      // members of an Automatic group may share a channel at prices of their own
      converter: ({ target, group }) =>
        target.id === candidate.target.id && group === candidate.group ? converter : undefined,
      unservable: () => undefined,
    };
  }
}

interface BatchedCall {
  readonly call: EndpointCall;
  readonly endpoint: BatchEndpoint;
}

function anotherModel(first: string): GatewayError {
  const message =
    `It is for another model than the first, "${first}". OpenAI's batches are for one model each, at OpenAI too: make a ` +
    'batch for each model.';
  return fault(message, 'model');
}

/** A batch is for one endpoint, and its bill for one region. */
function checkSame({ call, endpoint }: BatchedCall, { call: first, endpoint: url }: BatchedCall): void {
  if (endpoint !== url)
    throw fault(`It is for ${endpoint}, and the first for ${url}: all requests of a batch have one "url".`, 'url');
  if (call.region !== first.region)
    throw fault('It is for another region than the first: make a batch for each.', 'inference_geo');
}

/** What a single call may ask for and a request of a batch may not. */
function checkAlone(call: EndpointCall): void {
  const { stream, background, serviceTier, accountBoundField } = call;
  checkWhole(call);
  if (stream) throw fault('Results of a batch are not streamed: leave "stream" out.', 'stream');
  if (background === true) throw fault('A batch is in the background as it is: leave it out.', 'background');
  if (serviceTier !== undefined && serviceTier !== STANDARD_TIER)
    throw fault('A batch has a service tier of its own: leave the field out.', 'service_tier');
  if (accountBoundField !== undefined)
    throw fault(`The field "${accountBoundField}" names what one provider account keeps.`, accountBoundField);
}

/** Throws unsupported_parameter for a request that continues what the gateway keeps. */
export function checkWhole({ continues, conversation }: Pick<EndpointCall, 'continues' | 'conversation'>): void {
  if (conversation !== undefined) throw continued('conversation');
  if (continues !== undefined) throw continued('previous_response_id');
}

/** What a provider stores is named by an id that is the client's alone, which a file at the provider must not have. */
function checkStored(state: State, key: KeyState, { affinity }: EndpointCall): void {
  const seal = sealFor(state, key, '');
  const kinds = (affinity?.bound ?? []).map((sealed) => seal?.open(sealed)?.kind);
  if (kinds.includes(CONVERSATION_ID)) throw continued('conversation');
  if (kinds.includes(RESPONSE_ID)) throw continued('previous_response_id');
}

function continued(param: string): GatewayError {
  const message =
    'A request of a batch continues nothing: leave the field out, and send the whole conversation in "input".';
  return fault(message, param);
}

function mostOf(most: Most, call: EndpointCall, { reach, ...bounds }: CallBounds): Most {
  const { output } = call;
  const all = output ? bounds.outputTokens * output.answers + output.predictionTokens : 0;
  return {
    requestTokens: Math.max(most.requestTokens, bounds.requestTokens),
    inputTokens: Math.max(most.inputTokens, bounds.inputTokens),
    outputTokens: Math.max(most.outputTokens, all),
    requests: Math.max(most.requests, reach.requests ?? 1),
    oneHourCache: most.oneHourCache || call.oneHourCache,
    asksForReasoning: most.asksForReasoning || call.asksForReasoning,
    regions: union(most.regions, reach.regions),
    modalities: union(most.modalities, reach.modalities),
    uses: mostUses(most.uses, reach.uses ?? {}),
  };
}

/** The same list where nothing is new, so that thousands of requests make no garbage. */
function union<T>(known: readonly T[], more: readonly T[] = []): readonly T[] {
  const added = more.filter((each) => !known.includes(each));
  return added.length === 0 ? known : [...known, ...added];
}

function mostUses(most: Uses, more: Uses): Uses {
  const raised = Object.entries(more).filter(([name, count]) => {
    const known = Object.entries(most).find(([each]) => each === name)?.[1] ?? 0;
    return count > known;
  });
  return raised.length === 0 ? most : { ...most, ...Object.fromEntries(raised) };
}

function fault(message: string, param: string): GatewayError {
  return new GatewayError('unsupported_parameter', message, { param });
}

function unbounded(): GatewayError {
  const message =
    'It needs an upper bound of what it can cost, and has tools, files or fields without one. Leave them out, or ask ' +
    'the platform team for prices of these tools.';
  return new GatewayError('not_allowed', message);
}

/** The error for a batch of nothing. */
export function noRequests(): GatewayError {
  return new GatewayError('invalid_request', 'The batch has no requests: at least one is needed.');
}

/** The error where a request would have to be converted. */
function notPassedThrough(model: string): GatewayError {
  const message =
    `The provider of "${model}" takes no such requests in batches as they are, and requests of a batch are not ` +
    'converted. Send them one by one, or choose another model.';
  return new GatewayError('unsupported_parameter', message, { param: 'model' });
}
