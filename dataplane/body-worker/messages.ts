/** The messages between the main thread and the thread that reads expensive bodies. Only plain values cross. */
import type { BodyFacts, BodyKind } from '../protocol/body-kinds.ts';
import type { ChatDialect, RequestFault } from '../protocol/call-facts.ts';
import type { CountedTexts } from '../protocol/counted-texts.ts';
import type { RequestPlan, UpstreamBody } from '../protocol/converter.ts';
import type { Dress } from '../protocol/platforms/dress.ts';
import type { CountedDialect, ProviderKind } from '../protocol/provider.ts';
import type { SealingContext } from '../sealing/channel-seal.ts';

/** A plan as it crosses between threads: a seal is made of its context. */
export type PlainPlan = Omit<RequestPlan, 'scanned' | 'seal'> & {
  readonly sealing?: SealingContext | undefined;
  /** How the channel's platform dresses the converted request. */
  readonly dress?: Dress | undefined;
};

export type CountPlan = Pick<PlainPlan, 'upstreamModel' | 'sealing' | 'dress'>;

export type BodyTask =
  | { readonly task: 'Facts'; readonly kind: BodyKind }
  | {
    readonly task: 'Convert'; readonly kind: BodyKind; readonly protocol: ProviderKind;
    /** The converter's. */
    readonly client: ChatDialect;
    readonly plan: PlainPlan;
  }
  | {
    readonly task: 'CountRequest'; readonly protocol: ProviderKind; readonly dialect: CountedDialect;
    readonly plan: CountPlan;
  }
  | { readonly task: 'Texts'; readonly dialect: CountedDialect };

/** The result of each task. */
export interface BodyResults {
  readonly Facts: BodyFacts[BodyKind];
  readonly Convert: UpstreamBody;
  readonly CountRequest: UpstreamBody;
  readonly Texts: CountedTexts;
}

export type BodyJob = BodyTask & { readonly bytes: Uint8Array };

export type BodyReply =
  | { readonly outcome: 'Done'; readonly result: BodyResults[keyof BodyResults] }
  /** The request is at fault. */
  | { readonly outcome: 'Fault'; readonly fault: Pick<RequestFault, 'code' | 'message' | 'param'> }
  /** A defect. */
  | { readonly outcome: 'Failed'; readonly error: unknown };
