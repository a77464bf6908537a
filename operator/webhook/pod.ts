/** The fields of a pod that the webhook reads and writes; other fields pass through unchanged. */

export type StringMap = Readonly<Record<string, string>>;

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: unknown;
}

export interface Container {
  readonly name: string;
  readonly env?: readonly EnvVar[];
  readonly ports?: readonly { readonly containerPort?: number; readonly [field: string]: unknown }[];
  readonly [field: string]: unknown;
}

export interface Volume {
  readonly name: string;
  readonly [field: string]: unknown;
}

export interface Pod {
  readonly metadata?: {
    readonly labels?: StringMap;
    readonly annotations?: StringMap;
    readonly [field: string]: unknown;
  };
  readonly spec: {
    readonly containers: readonly Container[];
    readonly initContainers?: readonly Container[];
    readonly volumes?: readonly Volume[];
    readonly hostNetwork?: boolean;
    readonly os?: { readonly name?: string };
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

/** The label and annotations by which a pod requests and configures its sidecar, and those that the webhook adds. */
export const INJECT_LABEL = 'modelgateway.dev/inject';
export const API_KEY_ANNOTATION = 'modelgateway.dev/api-key';
export const INJECTED_ANNOTATION = 'modelgateway.dev/injected';
export const OVERRIDE_PREFIX = 'modelgateway.dev/sidecar-';

/** Names in the pod that belong to the sidecar. */
export const SIDECAR_CONTAINER = 'model-gateway-sidecar';
export const KEY_VOLUME = 'model-gateway-key';
