/**
 * The messages between the main thread and the worker thread that reads expensive bodies. They hold only plain
 * values, which postMessage can copy.
 */
import type { BatchEndpoint, BatchForm, LineFacts, LinesPlan } from '../protocol/batches/requests.ts';
import type { Results } from '../protocol/batches/results.ts';
import type { BodyFacts, BodyKind } from '../protocol/body-kinds.ts';
import type { ChatDialect, RequestFault } from '../protocol/call-facts.ts';
import type { CountedTexts } from '../protocol/counted-texts.ts';
import type {
  ConvertedJob,
  ConvertedResponse,
  LargeEventRead,
  ProviderError,
  RequestPlan,
  SecondApi,
  UpstreamBody,
} from '../protocol/converter.ts';
import type { Continued, ContinuedRequest } from '../protocol/openai/continued-input.ts';
import type { BodyForm } from '../protocol/openai/form-fields.ts';
import type { ItemQuery } from '../protocol/openai/input-items.ts';
import type { ConversationWork, WorkedConversation } from '../protocol/openai/kept-conversation.ts';
import type { SealedObject } from '../protocol/openai/stored-object.ts';
import type { SealedKind } from '../protocol/openai/sealed-response.ts';
import type { CountedDialect, ProviderKind } from '../protocol/provider.ts';
import type { SealingContext } from '../sealing/channel-seal.ts';

/**
 * A RequestPlan that postMessage can copy. It replaces the seal by the context from which the worker makes the seal.
 */
export type PlainPlan = Omit<RequestPlan, 'scanned' | 'seal'> & {
  readonly sealing?: SealingContext | undefined;
};

export type CountPlan = Pick<PlainPlan, 'upstreamModel' | 'sealing' | 'platform'>;

export type BodyTask =
  | ({ readonly task: 'Facts' } & SentBody)
  | ({
      readonly task: 'Convert';
      readonly protocol: ProviderKind;
      /** The dialect that the converter expects; not always the client's (see converterOf). */
      readonly client: ChatDialect;
      readonly api?: SecondApi | undefined;
      readonly plan: PlainPlan;
    } & SentBody)
  | {
      readonly task: 'CountRequest';
      readonly protocol: ProviderKind;
      readonly dialect: CountedDialect;
      readonly plan: CountPlan;
    }
  | { readonly task: 'Texts'; readonly dialect: CountedDialect }
  | {
      readonly task: 'Continue';
      readonly kept: Continued;
    }
  | { readonly task: 'ListItems'; readonly asked: ItemQuery }
  | { readonly task: 'WorkOnConversation'; readonly work: ConversationWork }
  | SealingTask<'SealStored'>
  | SealingTask<'ReadEvent'>
  | (SealingTask<'ReadResponse'> & { readonly kind: SealedKind })
  | { readonly task: 'ReadJob'; readonly protocol: ProviderKind }
  | { readonly task: 'SplitRequests' }
  | { readonly task: 'LineFacts'; readonly form: BatchForm }
  | ({
      readonly task: 'WriteLines';
      readonly form: BatchForm;
      readonly plans: readonly PlainPlan[];
    } & Omit<LinesPlan, 'plans'>)
  | { readonly task: 'ReadResults'; readonly endpoint: BatchEndpoint };

/** What a client's body is, and how it is written. */
interface SentBody {
  readonly kind: BodyKind;
  readonly form: BodyForm;
}

interface SealingTask<Task extends string> {
  readonly task: Task;
  readonly sealing: SealingContext;
  /** Sealed values that the client has already, by what is sealed in them. */
  readonly known: ReadonlyMap<string, string>;
}

/** The result of each task. */
export interface BodyResults {
  readonly Facts: BodyFacts[BodyKind];
  readonly Convert: UpstreamBody;
  readonly CountRequest: UpstreamBody;
  readonly Texts: CountedTexts;
  readonly Continue: ContinuedRequest;
  readonly ListItems: Uint8Array;
  readonly WorkOnConversation: WorkedConversation;
  readonly SealStored: SealedObject;
  readonly ReadEvent: LargeEventRead;
  /** Or the error that the response is. */
  readonly ReadResponse: ConvertedResponse | { readonly error: ProviderError };
  readonly ReadJob: ConvertedJob;
  readonly SplitRequests: Uint8Array;
  readonly LineFacts: readonly LineFacts[];
  readonly WriteLines: Uint8Array;
  readonly ReadResults: Results;
}

export type BodyJob = BodyTask & { readonly bytes: Uint8Array };

export type BodyReply =
  | { readonly outcome: 'Done'; readonly result: BodyResults[keyof BodyResults] }
  /** The request is invalid: the client gets a 400. */
  | { readonly outcome: 'Fault'; readonly fault: Pick<RequestFault, 'code' | 'message' | 'param'> }
  /** The worker threw an unexpected error, which the main thread rethrows. */
  | { readonly outcome: 'Failed'; readonly error: unknown };
