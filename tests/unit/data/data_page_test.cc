// docs/data.md: every address that it shows is understood, up to the files, which are not there.
#include <set>

#include "runtime/data/query.h"
#include "tests/unit/data/file_formats.h"

namespace hr::data {
namespace {

class NoDecoder final : public ImageDecoder {
 public:
  Result<ImageSize> Measure(Bytes) const override { return ImageSize{1, 1}; }
  Status Decode(Bytes, ImageSize, int, uint8_t*) const override { return {}; }
};

// The lines that begin with four spaces and an address.
std::vector<std::string> AddressesOf(std::string_view page) {
  std::vector<std::string> found;
  for (const std::string& line : SplitText(page, '\n')) {
    const bool indented = line.starts_with("    ") && !line.starts_with("    FORMAT");
    if (indented && line.find(':') != std::string::npos) found.push_back(line.substr(4));
  }
  return found;
}

TEST(DataPageTest, ShowsAddressesThatAreUnderstood) {
  const std::string page = ReadFile(HEADRACE_SOURCE_DIR "/docs/data.md").value();
  std::set<std::string> formats;
  for (const std::string& address : AddressesOf(page)) {
    formats.insert(address.substr(0, address.find(':')));
    std::string elsewhere = address;
    elsewhere.insert(address.find(':') + 1, "not-there/");
    const Status status =
        OpenDataset(elsewhere,
                    {.image_decoder = []() -> Result<std::shared_ptr<const ImageDecoder>> {
                      return std::shared_ptr<const ImageDecoder>(new NoDecoder);
                    }})
            .status()
            .Clone();
    HR_EXPECT_ERROR(status, kNotFound, "not-there");
  }
  EXPECT_EQ(formats, (std::set<std::string>{"idx", "cifar10", "cifar100", "images", "npy", "npz",
                                            "csv", "text"}));
}

}  // namespace
}  // namespace hr::data
