/**
 * [P] The gRPC methods between operator and proxies, as plain definitions that servers and clients are made from.
 */
import { Buffer } from 'node:buffer';
import { DeltaDiscoveryRequest, DeltaDiscoveryResponse } from './discovery.gen.ts';
import { AcknowledgementDigest, DigestReceipt, RefusalReceipt, RefusalReport } from './fleet.gen.ts';

/** The `cluster` of a client's node that reads the configuration and enforces nothing: it is not counted. */
export const OBSERVERS = 'observers';

/** A method as gRPC libraries take it. */
export interface Method<Request, Response> {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  readonly requestSerialize: (message: Request) => Buffer;
  readonly requestDeserialize: (bytes: Buffer) => Request;
  readonly responseSerialize: (message: Response) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

interface Codec<M> {
  encode(message: M): { finish(): Uint8Array };
  decode(bytes: Uint8Array): M;
}

interface Streams {
  readonly requestStream: boolean;
  readonly responseStream: boolean;
}

export const DELTA_AGGREGATED_RESOURCES = method(
  '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources',
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
  { requestStream: true, responseStream: true },
);

export const REPORT_REFUSALS = method(
  '/modelgateway.fleet.v1alpha1.Fleet/ReportRefusals',
  RefusalReport,
  RefusalReceipt,
  { requestStream: false, responseStream: false },
);

export const SHARE_ACKNOWLEDGEMENTS = method(
  '/modelgateway.fleet.v1alpha1.Fleet/ShareAcknowledgements',
  AcknowledgementDigest,
  DigestReceipt,
  { requestStream: true, responseStream: false },
);

function method<Request, Response>(
  path: string,
  request: Codec<Request>,
  response: Codec<Response>,
  streams: Streams,
): Method<Request, Response> {
  return {
    path,
    ...streams,
    requestSerialize: (message) => bufferOf(request.encode(message).finish()),
    requestDeserialize: (bytes) => request.decode(bytes),
    responseSerialize: (message) => bufferOf(response.encode(message).finish()),
    responseDeserialize: (bytes) => response.decode(bytes),
  };
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
