"""Write the bills of materials of images beside their OCI archives, which `scripts/images archive` makes.

sbom.py FOLDER/COMPONENT.tar...   writes FOLDER/sshload-COMPONENT-ARCHITECTURE.cdx.json of each (CycloneDX 1.6)
"""

import sys
from pathlib import Path

from contents.bill import PROJECT, bill_of_materials
from contents.image_archive import read_image
from contents.packages import tells_of_packages

ROOT = Path(__file__).resolve().parents[1]


def main(archives: list[str]) -> None:
    """Write a bill beside each archive, and print its path."""
    for archive in map(Path, archives):
        image = read_image(archive, tells_of_packages)
        bill = archive.with_name(f"{PROJECT}-{archive.stem}-{image.architecture}.cdx.json")
        bill.write_text(bill_of_materials(archive.stem, image, ROOT) + "\n", encoding="utf-8")
        print(bill)


if __name__ == "__main__":
    main(sys.argv[1:])
