# All images at once, each stage once, as OCI archives: `scripts/images archive` says from which sources and with which arguments.

variable "ARCHIVES" {
  default = "images"
}

target "default" {
  name   = component
  matrix = { component = ["operator", "worker", "target", "system", "gateway", "proxy"] }
  target = component
  output = ["type=oci,dest=${ARCHIVES}/${component}.tar,rewrite-timestamp=true"]
  attest = ["type=provenance,disabled=true", "type=sbom,disabled=true"]
}
