/** The dependencies of the HTTP server, and the properties that it adds to a fastify request. */
import type { GatewayError } from '../errors.ts';
import type { MemoryBudget } from '../memory-budget.ts';
import type { Caller, PipelineDeps } from '../pipeline/context.ts';
import type { AttemptReport, EndpointName } from '../telemetry/call-report.ts';
import type { GracefulShutdown } from './graceful-shutdown.ts';
import type { InFlight } from './in-flight.ts';

export interface ServerDeps extends PipelineDeps {
  /** Counts what requests make the process hold. */
  readonly memory: MemoryBudget;
  /** The most bytes of one request body, as it is sent and decoded. */
  readonly maxBodyBytes: number;
  /** The most connections at a time; one key may have half of them. */
  readonly maxConnections: number;
  /** Origins whose pages may call the API from a browser. */
  readonly corsOrigins: readonly string[];
  /** False until the first configuration is in force, because no key is known before. */
  readonly configured: () => boolean;
  readonly shutdown: GracefulShutdown;
  readonly inFlight: InFlight;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** In milliseconds of the monotonic clock. */
    arrivedAt: number;
    /** For telemetry: "other" until the handler of a free endpoint takes the request. */
    endpoint: EndpointName;
    /** Undefined if the request needs no key, or has none that is accepted. */
    caller: Caller | undefined;
    /** Why the request was refused or failed. */
    failure: GatewayError | undefined;
    /** Attempts at providers, on endpoints that send any. */
    attempts: AttemptReport[] | undefined;
  }
  interface FastifyContextConfig {
    readonly endpoint?: EndpointName;
    /** True if the route needs no key. */
    readonly isPublic?: boolean;
  }
}
